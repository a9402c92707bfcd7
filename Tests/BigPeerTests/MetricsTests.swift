#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import Metrics
  import TestKit
  import Testing

  @Suite struct MetricsTests {
    /// A backend that is not asked, such as one that sends figures somewhere.
    private final class OtherBackend: MetricsFactory {
      let page = MetricsPage()

      func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        page.makeCounter(label: label, dimensions: dimensions)
      }
      func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        page.makeMeter(label: label, dimensions: dimensions)
      }
      func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
      ) -> any RecorderHandler {
        page.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
      }
      func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        page.makeTimer(label: label, dimensions: dimensions)
      }
      func destroyCounter(_ handler: any CounterHandler) { page.destroyCounter(handler) }
      func destroyMeter(_ handler: any MeterHandler) { page.destroyMeter(handler) }
      func destroyRecorder(_ handler: any RecorderHandler) { page.destroyRecorder(handler) }
      func destroyTimer(_ handler: any TimerHandler) { page.destroyTimer(handler) }
    }

    @Test func `what is recorded through swift-metrics stands on the page`() {
      let page = MetricsPage()
      let counter = Counter(
        label: "web.requests", dimensions: [("path", "a\"b"), ("1st", "x")], factory: page)
      counter.increment(by: 2)
      Counter(label: "web.requests", dimensions: [("path", "a\"b"), ("1st", "x")], factory: page).increment()
      let meter = Meter(label: "level", factory: page)
      meter.set(1.5)
      Timer(label: "time", factory: page).recordMilliseconds(3)
      Recorder(label: "size", factory: page).record(40)
      Gauge(label: "gauge", factory: page).record(7)
      let text = page.text
      for line in [
        "# TYPE web_requests counter\nweb_requests{path=\"a\\\"b\",_st=\"x\"} 3\n",
        "# TYPE level gauge\nlevel 1.5\n", "time_bucket{le=\"0.0025\"} 0\ntime_bucket{le=\"0.005\"} 1\n",
        "time_bucket{le=\"+Inf\"} 1\ntime_sum 0.003\ntime_count 1\n", "size_bucket{le=\"30.0\"} 0\n",
        "size_sum 40\n", "# TYPE gauge gauge\ngauge 7\n",
      ] { expect(text.contains(line), "\(line)") }
      meter.destroy()
      #expect(!page.text.contains("level"))
      // One name is one kind of figure.
      Meter(label: "time", factory: page).set(9)
      #expect(page.text == text.replacing("# TYPE level gauge\nlevel 1.5\n", with: ""))
    }

    /// The texts of a JSON document's members of a name, at any depth.
    private static func texts(_ name: TextKey, in value: Value) -> [String] {
      switch value {
      case .map(let fields):
        fields.flatMap { key, value in
          (key == name ? value.text.map { [$0] } : nil) ?? texts(name, in: value)
        }
      case .array(let values): values.flatMap { texts(name, in: $0) }
      default: []
      }
    }

    @Test func `the dashboard asks for figures that there are`() async throws {
      let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Documentation/Dashboards/bigpeer.json").standardized
      let dashboard = try JSON.parse(Array(try Data(contentsOf: file)))
      let asked = Set(
        (Self.texts("expr", in: dashboard) + Self.texts("query", in: dashboard)).flatMap { text in
          text.matches(of: /(?:bigpeer|process)_[a-z_]+/).map {
            String($0.output.replacing(/_(bucket|sum|count)$/, with: ""))
          }
        })
      let known = Set(FigureHelp.texts.keys)
      #expect(asked.count > 25)
      #expect(asked.subtracting(known).sorted() == [], "there are no such figures")
      // Each figure of the page has a description, and what needs no device, login or certificate is there.
      let folder = try TemporaryDirectory()
      let page = try await RunningBigPeer.with(RunningBigPeer.configuration(in: folder)) { running in
        _ = try await running.api().execute("SELECT * FROM c")
        return try await APIClient(running.addresses.admin, token: nil).send("GET", "/metrics").text
      }
      let types = page.matches(of: /TYPE ([a-z_]+) (?:counter|gauge|histogram)/)
      let shown = Set(types.map { String($0.output.1) })
      #expect(shown.subtracting(known).sorted() == [], "these have no description")
      let others: Set = [
        "bigpeer_certificate_end_seconds", "bigpeer_device_lag_commits", "bigpeer_login_requests_total",
      ]
      let missing = asked.subtracting(shown).subtracting(others).filter { !$0.hasPrefix("process_") }
      #expect(missing.sorted() == [], "these are not on the page")
    }

    @Test func `figures go to each backend that was given, and the page is one of them`() async throws {
      for isAlone in [false, true] {
        let folder = try TemporaryDirectory()
        let other = OtherBackend()
        try await RunningBigPeer.with(
          RunningBigPeer.configuration(in: folder), metrics: isAlone ? [other] : [other, MetricsPage()]
        ) { running in
          let api = try await running.api()
          try await expectEqual(api.execute("INSERT INTO c DOCUMENTS ({'_id': 1})").status, 200)
          try await expectEqual(api.execute("nonsense").status, 422)
          let admin = try APIClient(running.addresses.admin, token: nil)
          let page = try await admin.send("GET", "/metrics")
          expectEqual(page.status, isAlone ? 404 : 200)
          // It is read off in the background too.
          for _ in 0..<400 where !other.page.text.contains("bigpeer_commits_total") {
            try await Task.sleep(for: .milliseconds(10))
          }
          for text in isAlone ? [other.page.text] : [other.page.text, page.text] {
            for line in [
              "# HELP bigpeer_http_requests_total Requests answered by the HTTP API.\n",
              "bigpeer_http_requests_total{method=\"POST\",route=\"/api/v4/store/execute\",status=\"200\"} 1\n",
              "bigpeer_http_requests_total{method=\"POST\",route=\"/api/v4/store/execute\",status=\"422\"} 1\n",
              "bigpeer_http_request_seconds_count{route=\"/api/v4/store/execute\"} 2\n",
              "bigpeer_api_keys{application=\"default\"} ",
            ] { expect(text.contains(line), "\(line)\n\(text)") }
          }
        }
      }
    }
  }
#endif
