#if Server
  import SyncProtocol
  import Transports
  import Facade
  import Foundation
  import HTTPTypes
  import Synchronization

  /// The figures of a big peer, as Prometheus reads them.
  package final class ServerMetrics: Sendable {
    private struct RequestKind: Hashable {
      let method: String
      let route: String
      let status: Int
    }

    private struct Durations {
      /// Requests that took so long at most, by the bounds.
      var counts = [UInt64](repeating: 0, count: ServerMetrics.bounds.count)
      var all: UInt64 = 0
      var seconds = 0.0
    }

    private struct State {
      var requests: [RequestKind: UInt64] = [:]
      var durations: [String: Durations] = [:]
      var broken: UInt64 = 0
    }

    /// Bounds of durations, in seconds.
    private static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    /// Methods that are told apart: others are `OTHER`, so that clients cannot make up more.
    private static let methods: Set<String> = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]

    private let state = Mutex(State())
    private let ledger: RequestLedger
    private let connections: ConnectionLedger
    private let start = Date()

    init(_ ledger: RequestLedger, _ connections: ConnectionLedger) {
      self.ledger = ledger
      self.connections = connections
    }

    /// Counts a request.
    func record(_ report: RequestReport) {
      let name = report.method?.rawValue ?? ""
      let method = Self.methods.contains(name) ? name : "OTHER"
      let seconds = report.time / .seconds(1)
      state.withLock { state in
        state.requests[RequestKind(method: method, route: report.route, status: report.status), default: 0] +=
          1
        if report.failure != nil { state.broken += 1 }
        var durations = state.durations[report.route] ?? Durations()
        for (index, bound) in Self.bounds.enumerated() where seconds <= bound { durations.counts[index] += 1 }
        durations.all += 1
        durations.seconds += seconds
        state.durations[report.route] = durations
      }
    }

    /// All figures now, in Prometheus's text format.
    ///
    /// Source: "Text-based format" of the Prometheus documentation, version 0.0.4.
    func text(of applications: HostedApplications) -> String {
      var page = MetricsPage()
      let (requests, durations, broken) = state.withLock { ($0.requests, $0.durations, $0.broken) }
      page.begin("bigpeer_http_requests_total", "counter", "Requests answered by the HTTP API.")
      for (kind, count) in requests.sorted(by: { "\($0.key)" < "\($1.key)" }) {
        page.add(
          Double(count), [("method", kind.method), ("route", kind.route), ("status", "\(kind.status)")])
      }
      page.begin("bigpeer_http_answers_broken_total", "counter", "Answers that ended before their end.")
      page.add(Double(broken))
      page.begin(
        "bigpeer_http_request_seconds", "histogram", "Time from a request's headers to its answer's end.")
      for (route, durations) in durations.sorted(by: { $0.key < $1.key }) {
        for (bound, count) in zip(Self.bounds, durations.counts) {
          page.add(Double(count), [("route", route), ("le", "\(bound)")], suffix: "_bucket")
        }
        page.add(Double(durations.all), [("route", route), ("le", "+Inf")], suffix: "_bucket")
        page.add(durations.seconds, [("route", route)], suffix: "_sum")
        page.add(Double(durations.all), [("route", route)], suffix: "_count")
      }
      page.begin("bigpeer_http_requests_in_flight", "gauge", "Requests that are being answered.")
      page.add(Double(ledger.count))
      page.begin("bigpeer_http_connections", "gauge", "Open connections of the HTTP API.")
      page.add(Double(connections.count))
      page.begin(
        "bigpeer_http_connections_refused_total", "counter", "Connections that there was no room for.")
      page.add(Double(connections.refusedCount))
      addApplications(applications, to: &page)
      addProcess(to: &page)
      return page.text
    }

    // MARK: - Applications

    private func addApplications(_ applications: HostedApplications, to page: inout MetricsPage) {
      let figures = applications.all.map { ApplicationFigures($0) }
      for (name, kind, help, value) in ApplicationFigures.all {
        page.begin(name, kind, help)
        for application in figures {
          guard let number = value(application) else { continue }
          page.add(number, [("application", application.id)])
        }
      }
      addLogins(applications, to: &page)
      addWebhooks(figures, to: &page)
    }

    private func addLogins(_ applications: HostedApplications, to page: inout MetricsPage) {
      page.begin("bigpeer_login_requests_total", "counter", "Requests of logins, by how they have ended.")
      for application in applications.all {
        guard let figures = application.logins.endpoint?.figures else { continue }
        for outcome in LoginOutcome.allCases {
          page.add(
            Double(figures[outcome] ?? 0), [("application", application.id), ("outcome", outcome.rawValue)])
        }
      }
    }

    private func addWebhooks(_ applications: [ApplicationFigures], to page: inout MetricsPage) {
      page.begin("bigpeer_webhooks", "gauge", "Webhooks of the change feed, by how they stand.")
      for application in applications {
        for state in [WebhookProgress.State.active, .retrying, .paused] {
          page.add(
            Double(application.webhooks.count { $0.state == state }),
            [("application", application.id), ("state", state.rawValue)])
        }
      }
    }

    // MARK: - The process

    private func addProcess(to page: inout MetricsPage) {
      page.begin("process_start_time_seconds", "gauge", "Start of the process since 1970.")
      page.add(start.timeIntervalSince1970)
      #if os(Linux)
        if let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii),
          let pages = text.split(separator: " ").dropFirst().first.flatMap({ Double($0) })
        {
          page.begin("process_resident_memory_bytes", "gauge", "Memory that the process has in use.")
          page.add(pages * Double(sysconf(Int32(_SC_PAGESIZE))))
        }
        if let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
          page.begin("process_open_fds", "gauge", "Files and sockets that are open.")
          page.add(Double(descriptors))
        }
      #endif
      var usage = rusage()
      #if os(Linux)
        let isKnown = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0
      #else
        let isKnown = getrusage(RUSAGE_SELF, &usage) == 0
      #endif
      if isKnown {
        page.begin("process_cpu_seconds_total", "counter", "Processor time that was used.")
        let micro = Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
        page.add(Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + micro)
      }
    }
  }

  /// The figures of one application.
  private struct ApplicationFigures {
    let id: String
    let statistics: DunlinStatistics?
    let devices: Int
    let lag: UInt64?
    let sent: UInt64
    let received: UInt64
    let keys: Int
    let webhooks: [WebhookProgress]
    let subscriptions: Int
    let missing: Int

    init(_ application: HostedApplication) {
      id = application.id
      statistics = try? application.dunlin.store.statistics()
      let standings = application.dunlin.sync.standings.filter(\.isConnected)
      devices = standings.count
      let sequence = statistics?.sequence ?? 0
      lag = standings.compactMap { standing -> UInt64? in
        guard !standing.delivery.pullsNothing, let served = standing.delivery.servedSequence else {
          return nil
        }
        return sequence - min(served, sequence)
      }.max()
      sent = standings.reduce(0) { $0 + UInt64(clamping: $1.connection.statistics.documentsSent) }
      received = standings.reduce(0) { $0 + UInt64(clamping: $1.connection.statistics.documentsReceived) }
      keys = application.keys.all.count
      webhooks = application.feed.webhooks.all.map(\.progress)
      subscriptions = application.dunlin.sync.subscriptions.count
      missing = application.missingCollectionCount
    }

    typealias Figure = (
      name: String, kind: String, help: String, value: @Sendable (ApplicationFigures) -> Double?
    )

    static let all: [Figure] = [
      ("bigpeer_devices", "gauge", "Devices that are connected.", { Double($0.devices) }),
      (
        "bigpeer_device_lag_commits", "gauge", "Commits that the device furthest behind lacks.",
        { $0.lag.map(Double.init) }
      ),
      (
        "bigpeer_connected_documents_sent", "gauge", "Documents sent to devices that are connected.",
        { Double($0.sent) }
      ),
      (
        "bigpeer_connected_documents_received", "gauge",
        "Documents received from devices that are connected.",
        { Double($0.received) }
      ),
      (
        "bigpeer_documents", "gauge", "Documents in the store.",
        { $0.statistics.map { Double($0.documentCount) } }
      ),
      (
        "bigpeer_commits_total", "counter", "Commits of the store.",
        { $0.statistics.map { Double($0.sequence) } }
      ),
      (
        "bigpeer_store_file_bytes", "gauge", "Size of the data file.",
        { $0.statistics.map { Double($0.fileBytes) } }
      ),
      (
        "bigpeer_store_used_bytes", "gauge", "Bytes of it in use.",
        { $0.statistics.map { Double($0.usedBytes) } }
      ),
      (
        "bigpeer_store_map_bytes", "gauge", "Size to which the data file may grow.",
        { $0.statistics.map { Double($0.mapBytes) } }
      ),
      (
        "bigpeer_store_waiting_writers", "gauge", "Writers that wait for their turn.",
        { $0.statistics.map { Double($0.waitingWriters) } }
      ),
      (
        "bigpeer_store_failed", "gauge", "Whether the store takes no writes any more.",
        { $0.statistics.map { $0.failure == nil ? 0 : 1 } ?? 1 }
      ),
      ("bigpeer_api_keys", "gauge", "API keys.", { Double($0.keys) }),
      (
        "bigpeer_webhook_deliveries_total", "counter",
        "Deliveries that the webhooks there are have acknowledged.",
        { Double($0.webhooks.reduce(0) { $0 + $1.deliveries }) }
      ),
      (
        "bigpeer_webhook_failures", "gauge", "Attempts that have failed since each webhook's last delivery.",
        { Double($0.webhooks.reduce(0) { $0 + $1.failures }) }
      ),
      ("bigpeer_subscriptions", "gauge", "What is pulled from devices.", { Double($0.subscriptions) }),
      (
        "bigpeer_collections_not_pulled", "gauge",
        "Collections that are not pulled from devices, since there are too many.",
        { Double($0.missing) }
      ),
    ]
  }
#endif
