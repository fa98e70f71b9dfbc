#include "reveza/cli/reveza/web_options.h"

#include "common/cli/command_line.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/program.h"

namespace reveza::cli {

void DeclareWeb(CLI::App& app, WebArguments& arguments) {
  app.description(
      "Show GPUs, programs and jobs in a browser\n\n"
      "Serves a page that shows GPUs, programs and jobs live in a browser, and prints its URL. "
      "Who\n"
      "has the URL may also pause programs and change what they are entitled to.");
  AddOption(app, "--listen", arguments.listen, "ADDRESS:PORT",
            "address to listen at; one that others reach is safe only with --certificate\n"
            "(default: 127.0.0.1:9788)");
  auto* certificate = AddOption(app, "--certificate", arguments.certificate, "FILE",
                                "certificate in PEM format, to serve HTTPS");
  auto* key = AddOption(app, "--key", arguments.key, "FILE", "private key of the certificate");
  certificate->needs(key);
  key->needs(certificate);
  AddSocketOption(app, arguments.socket);
  app.footer(
      "Examples:\n"
      "  reveza web\n"
      "  reveza web --listen 0.0.0.0:9788 --certificate cert.pem --key key.pem");
}

void DescribeWeb(CLI::App& app) {
  DeclareWeb(app, command_line::ArgumentsOwnedBy<WebArguments>(app));
}

}  // namespace reveza::cli
