#if Server
  import HTTPTypes
  import Metrics
  import Synchronization

  /// The figures of requests, whose instruments are made once for each route, method and status.
  final class RequestFigures: Sendable {
    private struct Kind: Hashable {
      let method: Int
      let status: Int
    }

    /// The instruments of one route.
    private struct Route {
      let name: String
      let time: Timer
      var counters: [Kind: Counter] = [:]
    }

    /// Methods with figures of their own; others count as `OTHER`, so that clients cannot create more.
    private static let methods: [HTTPRequest.Method] = [
      .get, .post, .put, .delete, .patch, .head, .options,
    ]

    private let factory: any MetricsFactory
    private let broken: Counter
    /// By route number; requests without a route have a number of their own.
    private let routes = Mutex<[Int: Route]>([:])

    init(_ factory: any MetricsFactory) {
      self.factory = factory
      broken = Counter(label: "bigpeer_http_answers_broken_total", factory: factory)
    }

    /// Counts a request.
    func record(_ report: RequestReport) {
      let method = report.method.flatMap { Self.methods.firstIndex(of: $0) } ?? Self.methods.count
      let kind = Kind(method: method, status: report.status)
      let (time, counter) = routes.withLock { routes in
        var route = routes[report.routeNumber] ?? self.route(report.route)
        let counter = route.counters[kind] ?? self.counter(kind, route.name)
        route.counters[kind] = counter
        routes[report.routeNumber] = route
        return (route.time, counter)
      }
      counter.increment()
      time.recordNanoseconds(Int64(clamping: Int128(report.time / .nanoseconds(1))))
      if report.failure != nil { broken.increment() }
    }

    private func route(_ name: String) -> Route {
      Route(
        name: name,
        time: Timer(label: "bigpeer_http_request_seconds", dimensions: [("route", name)], factory: factory))
    }

    private func counter(_ kind: Kind, _ route: String) -> Counter {
      let method = kind.method < Self.methods.count ? Self.methods[kind.method].rawValue : "OTHER"
      return Counter(
        label: "bigpeer_http_requests_total",
        dimensions: [("method", method), ("route", route), ("status", "\(kind.status)")], factory: factory)
    }
  }
#endif
