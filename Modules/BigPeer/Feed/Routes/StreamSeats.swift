#if Server
  import Synchronization

  /// How many streams of changes one listener has, of all applications: a part of its connections stays free for requests.
  final class StreamSeats: Sendable {
    let limit: Int
    private let taken = Mutex(0)

    init(_ limits: HTTPLimits) { limit = max(1, limits.connections * 3 / 4) }

    /// Takes one, for as long as it is held; `nil` when none is left.
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

  /// The place of one stream.
  final class StreamSeat: Sendable {
    private let seats: StreamSeats

    fileprivate init(_ seats: StreamSeats) { self.seats = seats }

    deinit { seats.leave() }
  }
#endif
