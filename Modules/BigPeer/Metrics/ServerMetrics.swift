#if Server
  import Foundation
  import Metrics
  import ServiceLifecycle
  import Synchronization

  /// The figures of a big peer, which are recorded through swift-metrics.
  ///
  /// Events are counted as they happen. States are sampled for each request to `/metrics`, and every ten
  /// seconds for backends that are not polled.
  final class ServerMetrics: Service {
    private static let pace = Duration.seconds(10)

    /// The page of `/metrics`, if there is one.
    private let page: MetricsPage?
    /// Whether there are backends that are not polled.
    let hasOthers: Bool
    private let applications: HostedApplications
    private let certificate: ServerCertificate?
    private let ledger: RequestLedger
    private let connections: ConnectionLedger
    private let requests: RequestFigures
    private let reloads: (done: Counter, failed: Counter)
    private let process = ProcessFigures()
    private let sampled: Mutex<SampledFigures>

    init(
      _ factories: [any MetricsFactory], _ applications: HostedApplications,
      _ certificate: ServerCertificate?, _ ledger: RequestLedger, _ connections: ConnectionLedger
    ) {
      page = factories.lazy.compactMap { $0 as? MetricsPage }.first
      hasOthers = factories.contains { !($0 is MetricsPage) }
      let factory = factories.count == 1 ? factories[0] : MultiplexMetricsHandler(factories: factories)
      self.applications = applications
      self.certificate = certificate
      self.ledger = ledger
      self.connections = connections
      requests = RequestFigures(factory)
      func reloads(_ outcome: String) -> Counter {
        Counter(label: "bigpeer_reloads_total", dimensions: [("outcome", outcome)], factory: factory)
      }
      self.reloads = (reloads("done"), reloads("failed"))
      sampled = Mutex(SampledFigures(factory))
    }

    /// Counts a request.
    func record(_ report: RequestReport) { requests.record(report) }

    /// Counts a reload of certificates and keys.
    func reloaded(isDone: Bool) { (isDone ? reloads.done : reloads.failed).increment() }

    /// All figures now, in Prometheus's text format; `nil` if there is no page.
    var text: String? {
      guard let page else { return nil }
      sample()
      return page.text
    }

    /// Samples states at intervals, until the server stops.
    func run() async throws {
      await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          self.sample()
          try? await Task.sleep(for: Self.pace)
        }
      }
    }

    private func sample() {
      let look = sampled.withLock { $0.begin() }
      let ends = certificate.map { certificate in
        SampledFigures.Sample(
          name: "bigpeer_certificate_end_seconds", kind: .gauge, value: certificate.end.timeIntervalSince1970,
          labels: [("use", "http")])
      }
      let memory = [
        ("answers", ledger.answers), ("bodies", ledger.bodies), ("rows", ledger.gathered),
      ].map { use, account in
        SampledFigures.Sample(
          name: "bigpeer_http_memory_bytes", kind: .gauge, value: Double(account.bytes),
          labels: [("use", use)])
      }
      let http =
        [ends].compactMap(\.self) + memory + [
          SampledFigures.Sample(
            name: "bigpeer_http_requests_in_flight", kind: .gauge, value: Double(ledger.count)),
          .init(name: "bigpeer_http_connections", kind: .gauge, value: Double(connections.count)),
          .init(
            name: "bigpeer_http_connections_refused_total", kind: .counter,
            value: Double(connections.refusedCount)),
        ]
      let (served, missing) = (applications.all, applications.missing)
      let states = (served.map { ($0.id, 1.0) } + missing.map { ($0.id, 0.0) }).map { id, value in
        SampledFigures.Sample(
          name: "bigpeer_application_served", kind: .gauge, value: value, labels: [("application", id)])
      }
      let samples = http + states + served.flatMap { ApplicationFigures($0).samples } + process.samples
      sampled.withLock { $0.take(samples, of: look) }
    }
  }
#endif
