import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import SyncProtocol

/// Packs pieces of large groups for all sessions of the process, on the pool of threads for work that takes long: as many
/// as there are cores.
enum PackPool {
  /// What a thread packs with, while it is at it.
  private final class Bench: @unchecked Sendable {
    // SAFETY: a bench is in the list of idle ones, or with the one thread that took it out.
    let bench = PackBench()
  }

  /// Idle benches; at most one for each thread.
  private static let benches = NIOLockedValueBox<[Bench]>([])

  /// Packs a piece and reports it from whatever thread it was done on.
  static func run(_ job: PackJob, _ report: @escaping @Sendable (PackedPiece) -> Void) {
    NIOSingletons.posixBlockingThreadPool.submit { _ in
      let bench = benches.withLockedValue { $0.popLast() } ?? Bench()
      let piece = job.run(with: bench.bench)
      benches.withLockedValue { $0.append(bench) }
      report(piece)
    }
  }
}
