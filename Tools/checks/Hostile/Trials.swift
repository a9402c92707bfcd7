import ArgumentParser
import Foundation
import PeerControl

/// One row or control, as it is run and judged.
struct Trial {
  let name: String
  let aims: Aims
  /// Whether it is a control that has to miss its aims.
  let mustMiss: Bool
  /// Runs it once.
  let run: (TrialOptions) async throws -> Figures
}

/// How often and how long rows run, and how they are judged.
struct TrialOptions: ParsableArguments {
  @Option(help: "How often each row runs.")
  var runs = 5
  @Option(help: "Seconds that an attack lasts at most.")
  var seconds = 10.0
  @Option(help: "Seconds of idling before an attack; as many as an attack lasts when not given.")
  var idle: Double?
  @Option(help: "Seconds after an attack in which honest writes may still come in.")
  var patience = 30.0
  @Option(help: "So many times the limits are allowed.")
  var scale = 1
  @Option(help: "The same of how long honest writes wait; as the other limits when not given.")
  var waitScale: Int?

  var attackTime: Duration { .seconds(seconds) }
  var idleTime: Duration { .seconds(idle ?? seconds) }
  var patienceTime: Duration { .seconds(patience) }

  func validate() throws {
    guard runs > 0, scale > 0, waitScale ?? 1 > 0, seconds > 0, patience >= 1 else {
      throw ValidationError("numbers must be positive, and patience at least 1")
    }
  }

  /// Runs rows and controls, and prints what they came to.
  ///
  /// - Throws: `PeerError` that names those that are not as they should be.
  func judge(_ trials: [Trial]) async throws {
    signal(SIGPIPE, SIG_IGN)
    Self.allowConnections()
    let sources = SceneDirectories.removeWhenInterrupted()
    defer {
      SceneDirectories.removeAll()
      withExtendedLifetime(sources) {}
    }
    let table = Table()
    table.printHead()
    var wrong: [String] = []
    for trial in trials {
      var all: [Figures] = []
      for _ in 0..<runs { all.append(try await trial.run(self)) }
      let figures = Figures(medianOf: all)
      // A control misses its aims by far, and not by what a busy machine adds.
      let misses =
        trial.mustMiss
        ? trial.aims.misses(figures, scale: 1, waitScale: 1)
        : trial.aims.misses(figures, scale: scale, waitScale: waitScale ?? scale)
      table.print(trial.name, figures, misses, mustMiss: trial.mustMiss)
      if misses.isEmpty == trial.mustMiss { wrong.append(trial.name) }
    }
    guard wrong.isEmpty else { throw PeerError("not as it should be: \(wrong.joined(separator: ", "))") }
  }

  /// Lets this process, and those that it starts, have the connections of all rows.
  private static func allowConnections() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, 8_192))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
