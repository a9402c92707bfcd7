import ArgumentParser
import Glibc

/// What every campaign is told and what it prints.
struct CampaignOptions: ParsableArguments {
  @Option(help: "Where the random numbers begin; printed with every failure.")
  var seed: UInt64 = 1

  @Option(help: "Processes that share the work.")
  var workers = 2
}

/// The lines of a campaign.
enum CampaignReport {
  /// Runs a part of a campaign and prints one line on it; `replay` is what repeats it.
  static func part(_ name: String, replay: String, _ body: () throws -> Tally) throws {
    let start = ContinuousClock.now
    do {
      let tally = try body()
      line("\(name): ok in \(seconds(since: start)) s: \(sentence(tally))")
    } catch {
      line("\(name): FAILED after \(seconds(since: start)) s: \(Failure(wrapping: error))")
      line("  again with: checks torture \(replay)")
      throw ExitCode.failure
    }
  }

  /// Runs a part that must fail in one of the given ways, and prints how it did.
  static func control(_ name: String, expecting kinds: Set<Failure.Kind>, _ body: () throws -> Tally) throws {
    let start = ContinuousClock.now
    do {
      _ = try body()
    } catch {
      let failure = Failure(wrapping: error)
      if kinds.contains(failure.kind) {
        return line("\(name): caught, as it must be, in \(seconds(since: start)) s: \(failure)")
      }
      line("\(name): FAILED in an unexpected way: \(failure)")
      throw ExitCode.failure
    }
    line("\(name): FAILED: the planted defect was not noticed, so this campaign proves nothing")
    throw ExitCode.failure
  }

  /// Straight to the descriptor: a buffer would be printed again by every child.
  static func line(_ text: String) { Child.write(text + "\n", to: STDOUT_FILENO) }

  static func skipped(_ name: String, _ reason: String) { line("\(name): skipped: \(reason)") }

  static func sentence(_ tally: Tally) -> String {
    tally.names.map { "\(tally[$0]) \($0)" }.joined(separator: ", ")
  }

  private static func seconds(since start: ContinuousClock.Instant) -> String {
    let tenths = (ContinuousClock.now - start) / .milliseconds(100)
    return "\(Int(tenths) / 10).\(Int(tenths) % 10)"
  }
}
