#if Server
  import Metrics
  import Synchronization

  /// One value of a figure on the page.
  protocol PageCell: AnyObject, Sendable {
    /// Appends the value to a text.
    func write(to text: inout PageText, _ labels: [(String, String)])
  }

  /// A number that is set, or that grows.
  final class NumberCell: PageCell, CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler
  {
    private let value = Mutex(0.0)

    func write(to text: inout PageText, _ labels: [(String, String)]) {
      text.add(value.withLock { $0 }, labels)
    }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func reset() { value.withLock { $0 = 0 } }
    func set(_ number: Int64) { set(Double(number)) }
    func set(_ number: Double) { value.withLock { $0 = number } }
    func record(_ number: Int64) { set(Double(number)) }
    func record(_ number: Double) { set(number) }
  }

  /// A histogram: counts values up to each of some bounds, seconds of a timer or values of a recorder.
  final class HistogramCell: PageCell, TimerHandler, RecorderHandler {
    private struct State {
      /// The number of values between a bound and the one before it.
      var counts = [UInt64](repeating: 0, count: HistogramCell.bounds.count)
      var all: UInt64 = 0
      var sum = 0.0
    }

    /// The bounds in seconds.
    private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

    private let state = Mutex(State())

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
    func record(_ number: Int64) { record(Double(number)) }

    func record(_ number: Double) {
      let bound = Self.bounds.firstIndex { number <= $0 }
      state.withLock { state in
        if let bound { state.counts[bound] += 1 }
        state.all += 1
        state.sum += number
      }
    }

    func write(to text: inout PageText, _ labels: [(String, String)]) {
      let state = state.withLock { $0 }
      var count: UInt64 = 0
      for (bound, more) in zip(Self.bounds, state.counts) {
        count += more
        text.add(Double(count), labels + [("le", "\(bound)")], suffix: "_bucket")
      }
      text.add(Double(state.all), labels + [("le", "+Inf")], suffix: "_bucket")
      text.add(state.sum, labels, suffix: "_sum")
      text.add(Double(state.all), labels, suffix: "_count")
    }
  }
#endif
