#if Server
  import Metrics

  /// Figures that are sampled at intervals, as gauges and counters.
  struct SampledFigures: Sendable {
    /// The kind of a figure.
    enum Kind: Sendable {
      /// A value that goes up and down.
      case gauge
      /// A value that only grows.
      case counter
    }

    /// The current value of a figure.
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

    /// Begins a sampling of all figures.
    ///
    /// - Returns: The number of the sampling.
    mutating func begin() -> Int {
      begun += 1
      return begun
    }

    /// Applies all values of a sampling.
    ///
    /// Figures without a value in it are removed. A sampling is ignored if a later one has already been
    /// applied.
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
        // The counter restarts when the value that it counts restarts.
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
