#if Server
  public import Metrics
  import Synchronization

  /// Collects the figures of swift-metrics in Prometheus's format; the big peer serves it at `/metrics`.
  ///
  /// An application can also pass it to `MetricsSystem`. Then it contains the figures of other libraries
  /// beside those of the big peer.
  public final class MetricsPage: MetricsFactory {
    private struct Figure {
      let kind: String
      var cells: [(labels: [(String, String)], cell: any PageCell)] = []
    }

    private let figures = Mutex<[String: Figure]>([:])

    /// Makes a page without figures.
    public init() {}

    /// All figures now, in Prometheus's text format.
    public var text: String {
      var text = PageText()
      for (name, figure) in figures.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
        text.begin(name, figure.kind, FigureHelp.texts[name])
        for (labels, cell) in figure.cells { cell.write(to: &text, labels) }
      }
      return text.text
    }

    /// The cell of a figure with some labels, created if necessary; `nil` for a figure of another kind.
    private func cell<Cell: PageCell>(
      _ label: String, _ kind: String, _ dimensions: [(String, String)], _ make: () -> Cell
    ) -> Cell? {
      let name = PageText.plain(label)
      return figures.withLock { figures in
        var figure = figures[name] ?? Figure(kind: kind)
        guard figure.kind == kind else { return nil }
        if let known = figure.cells.first(where: { $0.labels.elementsEqual(dimensions, by: ==) }) {
          return known.cell as? Cell
        }
        let cell = make()
        figure.cells.append((dimensions, cell))
        figures[name] = figure
        return cell
      }
    }

    private func remove(_ handler: AnyObject) {
      figures.withLock { figures in
        for (name, figure) in figures {
          guard let index = figure.cells.firstIndex(where: { $0.cell === handler }) else { continue }
          figures[name]?.cells.remove(at: index)
          if figure.cells.count == 1 { figures[name] = nil }
          return
        }
      }
    }

    // MARK: - MetricsFactory

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
      cell(label, "counter", dimensions) { NumberCell() } ?? NOOPMetricsHandler.instance
    }

    public func makeFloatingPointCounter(
      label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
      cell(label, "counter", dimensions) { NumberCell() } ?? NOOPMetricsHandler.instance
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
      cell(label, "gauge", dimensions) { NumberCell() } ?? NOOPMetricsHandler.instance
    }

    public func makeRecorder(
      label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
      if aggregate {
        return cell(label, "histogram", dimensions) { HistogramCell() } ?? NOOPMetricsHandler.instance
      }
      return cell(label, "gauge", dimensions) { NumberCell() } ?? NOOPMetricsHandler.instance
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
      cell(label, "histogram", dimensions) { HistogramCell() } ?? NOOPMetricsHandler.instance
    }

    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
  }
#endif
