import ArgumentParser

/// Whether a command shows its progress.
struct ProgressOption: ParsableArguments {
  @Flag(
    inversion: .prefixedNo,
    help:
      "Show progress on standard error, or not. By default it shows on a terminal alone; elsewhere it is a line each second."
  )
  var progress: Bool?

  var place: Progress.Place {
    switch progress {
    case nil: .terminal
    case true?: .everywhere
    case false?: .nowhere
    }
  }
}
