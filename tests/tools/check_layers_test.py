"""tools/check_layers.py on trees that break the rule."""

import unittest

from tree import TreeTest

TOOL = "check_layers.py"


class CheckLayers(TreeTest):
    def include(self, file: str, *names: str):
        self.write(file, "".join(f'#include "{name}"\n' for name in names))

    def test_downward_and_sideways_is_right(self):
        self.include("src/interpose/agent.cc", "interpose/agent.h", "swap/ledger.h", "base/bytes.h")
        self.include("src/daemon/daemon.cc", "scheduler/scheduler.h", "wire/codec.h")
        self.include("src/simulator/world.cc", "scheduler/scheduler.h")
        self.include("fakecuda/card.cc", "base/bytes.h", "fakecuda/card.h", "card.h")
        self.include("tests/faults/kill.cc", "daemon/daemon.h", "interpose/gate.h")
        self.assert_clean(TOOL)

    def test_upward_is_found_with_its_line(self):
        self.include("src/base/units.cc", "base/units.h", "platform/process.h")
        self.assert_found(TOOL, "src/base/units.cc:2: base may not include platform")

    def test_each_neighbour_is_ordered(self):
        order = ["apps", "interpose", "swap", "runner", "doctor", "monitor", "daemon", "simulator",
                 "scheduler", "wire", "phi", "platform", "base"]
        wanted = []
        for above, below in zip(order, order[1:]):
            folder = "apps" if above == "apps" else f"src/{above}"
            self.include(f"{folder}/down.cc", f"{below}/x.h")
            self.include(f"src/{below}/up.cc", f"{above}/x.h")
            wanted.append(f"src/{below}/up.cc:1: {below} may not include {above}")
        self.assert_found(TOOL, *sorted(wanted))

    def test_rooms_of_one_floor_do_not_know_each_other(self):
        self.include("src/phi/cycle.cc", "datagen/schema.h")
        self.include("src/datagen/schema.cc", "phi/cycle.h")
        self.assert_found(TOOL, "datagen may not include phi", "phi may not include datagen")

    def test_rooms_inside_phi_are_ordered(self):
        order = ["run", "cycles", "series", "measures", "arithmetic"]
        wanted = []
        for above, below in zip(order, order[1:]):
            self.include(f"src/phi/{above}/down.cc", f"phi/{below}/x.h")
            self.include(f"src/phi/{below}/up.cc", f"phi/{above}/x.h")
            wanted.append(f"src/phi/{below}/up.cc:1: phi/{below} may not include phi/{above}")
        self.assert_found(TOOL, *sorted(wanted))

    def test_rooms_of_one_floor_inside_phi_do_not_know_each_other(self):
        self.include("src/phi/measures/series.h", "phi/discrete/network.h")
        self.include("src/phi/output/rows.h", "phi/cycles/model.h")
        self.assert_found(TOOL, "phi/measures may not include phi/discrete",
                          "phi/output may not include phi/cycles")

    def test_unknown_room_inside_phi_is_named(self):
        self.include("src/phi/attic/box.cc", "phi/arithmetic/x.h")
        self.assert_found(TOOL, "src/phi/attic is no folder")

    def test_folders_inside_a_room_have_their_order(self):
        self.include("src/runner/engine/engine.cc", "runner/journal/journal.h", "runner/job.h")
        self.assert_clean(TOOL)
        self.include("src/runner/journal/journal.cc", "runner/decide/tuner.h")
        self.include("src/runner/supervisor/child.cc", "runner/definition/identity.h")
        self.include("src/runner/text_file.cc", "runner/engine/engine.h")
        self.include("src/runner/attic/old.cc", "runner/job.h")
        self.assert_found(
            TOOL,
            "src/runner/attic is no folder",
            "src/runner/journal/journal.cc:1: runner/journal may not include runner/decide",
            "runner/supervisor may not include runner/definition",
            "runner may not include runner/engine")

    def test_a_rooms_tests_follow_its_rule(self):
        self.include("src/wire/codec_test.cc", "daemon/daemon.h")
        self.assert_found(TOOL, "wire may not include daemon")

    def test_way_round_through_dots_is_found(self):
        self.write("src/daemon/daemon.h")
        self.include("src/wire/codec.cc", "../daemon/daemon.h")
        self.assert_found(TOOL, "wire may not include daemon")

    def test_fakecuda_knows_only_base(self):
        self.include("fakecuda/card.cc", "wire/codec.h")
        self.assert_found(TOOL, "fakecuda may not include wire")

    def test_nobody_knows_fakecuda_or_the_tests(self):
        self.include("src/swap/mover.cc", "fakecuda/card.h")
        self.include("src/swap/physical.cc", "tests/clients/driver.h")
        self.assert_found(TOOL, "swap may not include fakecuda", "swap may not include tests")

    def test_unknown_room_is_named(self):
        self.write("src/attic/box.cc")
        self.assert_found(TOOL, "src/attic is no room")

    def test_empty_tree_is_an_error(self):
        self.assert_found(TOOL, "no source file found")


if __name__ == "__main__":
    unittest.main()
