"""tools/check_layers.py on trees that break the rule."""

import sys
import unittest

from tree import ROOT, TreeTest

sys.path.insert(0, str(ROOT / "tools"))
import check_layers  # noqa: E402 (found by the line above)

TOOL = "check_layers.py"


class CheckLayers(TreeTest):
    def include(self, file: str, *names: str):
        self.write(file, "".join(f'#include "{name}"\n' for name in names))

    def test_accepts_includes_of_lower_rooms_and_of_the_same_room(self):
        self.include("reveza/gpu/interpose/agent.cc", "reveza/gpu/interpose/agent.h",
                     "reveza/gpu/swap/ledger.h", "common/base/bytes.h")
        self.include("reveza/gpu/daemon/daemon.cc", "reveza/gpu/scheduler/scheduler.h")
        self.include("fraudgen/model/classic/rides.cc", "fraudgen/model/model.h")
        self.include("fakecuda/card.cc", "fakecuda/card.h", "card.h")
        self.include("tests/faults/kill.cc", "reveza/gpu/daemon/daemon.h", "phi/run/runner.h")
        self.assert_clean(TOOL)

    def test_reports_upward_includes_with_line_number(self):
        self.include("common/base/units.cc", "common/base/units.h", "common/platform/process.h")
        self.assert_found(
            TOOL, "common/base/units.cc:2: common/base may not include common/platform")

    def test_every_pair_of_adjacent_layers_is_ordered(self):
        wanted = []
        for product, floors in check_layers.LAYERS.items():
            for above, below in zip(floors, floors[1:]):
                upper, lower = (f"{product}/{sorted(rooms)[0]}" for rooms in (above, below))
                self.include(f"{upper}/down.cc", f"{lower}/x.h")
                self.include(f"{lower}/up.cc", f"{upper}/x.h")
                wanted.append(f"{lower}/up.cc:1: {lower} may not include {upper}")
        self.assert_found(TOOL, *sorted(wanted))

    def test_rooms_of_one_layer_may_not_include_each_other(self):
        self.include("phi/output/rows.h", "phi/cycles/model.h")
        self.include("phi/cycles/weights.h", "phi/plot/svg.h")
        self.assert_found(TOOL, "phi/cycles may not include phi/plot",
                          "phi/output may not include phi/cycles")

    def test_products_may_not_include_each_other(self):
        self.include("phi/run/runner.cc", "fraudgen/schema/schema.h")
        self.include("fraudgen/schema/schema.cc", "reveza/gpu/wire/codec.h")
        self.include("common/base/log.cc", "phi/arithmetic/philox.h")
        self.assert_found(TOOL, "common/base may not include phi/arithmetic",
                          "fraudgen/schema may not include reveza/gpu/wire",
                          "phi/run may not include fraudgen/schema")

    def test_tests_of_a_room_follow_its_rule(self):
        self.include("reveza/gpu/wire/codec_test.cc", "reveza/gpu/daemon/daemon.h")
        self.assert_found(TOOL, "reveza/gpu/wire may not include reveza/gpu/daemon")

    def test_relative_includes_are_resolved(self):
        self.write("reveza/gpu/daemon/daemon.h")
        self.include("reveza/gpu/wire/codec.cc", "../daemon/daemon.h")
        self.assert_found(TOOL, "reveza/gpu/wire may not include reveza/gpu/daemon")

    def test_nothing_but_tests_may_include_fakecuda_or_the_tests(self):
        self.include("reveza/gpu/swap/mover.cc", "fakecuda/card.h")
        self.include("reveza/gpu/swap/physical.cc", "tests/support/process.h")
        self.include("fakecuda/card.cc", "common/base/bytes.h")
        self.assert_found(TOOL, "fakecuda may not include common/base",
                          "reveza/gpu/swap may not include fakecuda",
                          "reveza/gpu/swap may not include tests")

    def test_reports_unknown_rooms(self):
        self.write("phi/attic/box.cc")
        self.write("reveza/box.cc")
        self.assert_found(TOOL, "phi/attic is not listed", "reveza is not listed")

    def test_empty_tree_is_an_error(self):
        self.assert_found(TOOL, "no source files found")


if __name__ == "__main__":
    unittest.main()
