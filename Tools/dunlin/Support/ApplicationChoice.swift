import ArgumentParser

/// Which application of a server a command is about.
struct ApplicationChoice: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Which application, where the directory is the data directory of a big peer.", valueName: "id"))
  var application: String?
}
