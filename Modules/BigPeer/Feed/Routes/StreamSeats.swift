#if Server
  import Synchronization

  /// The limit of streams of one listener, for all applications together.
  ///
  /// A part of the listener's connections stays free for requests.
  final class StreamSeats: Sendable {
    var limit: Int { max(1, gate.limits.connections * 3 / 4) }
    private let gate: APIGate
    private let taken = Mutex(0)

    init(_ gate: APIGate) { self.gate = gate }

    /// Takes a seat for as long as it is referenced; `nil` when none is left.
    func take() -> StreamSeat? {
      let isThere = taken.withLock { taken in
        guard taken < limit else { return false }
        taken += 1
        return true
      }
      return isThere ? StreamSeat(self) : nil
    }

    fileprivate func leave() { taken.withLock { $0 -= 1 } }
  }

  /// The seat of one stream.
  final class StreamSeat: Sendable {
    private let seats: StreamSeats

    fileprivate init(_ seats: StreamSeats) { self.seats = seats }

    deinit { seats.leave() }
  }
#endif
