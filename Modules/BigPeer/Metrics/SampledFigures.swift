#if Server
  import Metrics

  /// Figures that are read off from time to time, as gauges and counters.
  struct SampledFigures: Sendable {
    /// What a figure is.
    enum Kind: Sendable {
      /// It goes up and down.
      case gauge
      /// It grows.
      case counter
    }

    /// A figure's value now.
    struct Sample: Sendable {
      let name: String
      let kind: Kind
      let value: Double
      var labels: [(String, String)] = []

      fileprivate var key: [String] { [name] + labels.map(\.1) }
    }

    private enum Instrument: Sendable {
      case gauge(Meter)
      case counter(FloatingPointCounter, last: Double)
    }

    private let factory: any MetricsFactory
    private var instruments: [[String]: Instrument] = [:]
    private var (begun, taken) = (0, 0)

    init(_ factory: any MetricsFactory) { self.factory = factory }

    /// A look at all figures begins.
    ///
    /// - Returns: Its number.
    mutating func begin() -> Int {
      begun += 1
      return begun
    }

    /// Takes all values of a look.
    ///
    /// Figures that have none any more are gone. A look that a later one has overtaken counts for nothing.
    mutating func take(_ samples: [Sample], of look: Int) {
      guard look > taken else { return }
      taken = look
      for sample in samples { take(sample) }
      let known = Set(samples.map(\.key))
      for (key, instrument) in instruments where !known.contains(key) {
        instruments[key] = nil
        switch instrument {
        case .gauge(let meter): meter.destroy()
        case .counter(let counter, _): counter.destroy()
        }
      }
    }

    private mutating func take(_ sample: Sample) {
      switch instruments[sample.key] ?? make(sample) {
      case .gauge(let meter):
        meter.set(sample.value)
        instruments[sample.key] = .gauge(meter)
      case .counter(let counter, let last):
        // It begins anew when what it counts does.
        if sample.value < last { counter.reset() }
        counter.increment(by: sample.value < last ? sample.value : sample.value - last)
        instruments[sample.key] = .counter(counter, last: sample.value)
      }
    }

    private func make(_ sample: Sample) -> Instrument {
      switch sample.kind {
      case .gauge: .gauge(Meter(label: sample.name, dimensions: sample.labels, factory: factory))
      case .counter:
        .counter(
          FloatingPointCounter(label: sample.name, dimensions: sample.labels, factory: factory), last: 0)
      }
    }
  }
#endif
