/* Test program: reports four steps, the last with more metrics than fit into a line. */
#include <locale.h>

#include "reveza_step.h"

int main(void) {
  setlocale(LC_ALL, "");
  printf("starting, ");
  printf("unflushed\n");
  REVEZA_STEP(1);
  const double phi = 0.61;
  REVEZA_STEP(2, {"phi", phi}, {"loss", 1e-3});
  const double zero = phi - phi;
  const struct reveza_metric odd[] = {{"a", 1 / zero}, {"b", zero / zero}, {"c", 1.0 / 3}};
  if (reveza_step(18446744073709551615ull, odd, 3) != 0) return 1;
  struct reveza_metric many[1000];
  for (int i = 0; i < 1000; ++i) {
    many[i].name = "metric";
    many[i].value = i;
  }
  return reveza_step(4, many, 1000) == 0 ? 0 : 2;
}
