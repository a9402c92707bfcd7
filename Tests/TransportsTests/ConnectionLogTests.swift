import Logging
import SyncProtocol
import Synchronization
import Testing
import Transports

/// What peers can make the log say.
@Suite struct ConnectionLogTests {
  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func append(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private struct Recorder: LogHandler {
    let lines = Lines()
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.append("\(event.message)") }
  }

  private let recorder = Recorder()
  private var logger: Logger { Logger(label: "test") { _ in recorder }.plain }
  private var lines: [String] { recorder.lines.all }

  private func endpoint(_ host: String, _ port: Int = 1) -> LinkEndpoint {
    LinkEndpoint(kind: "tcp", address: "\(host):\(port)")
  }

  @Test func `what ends a line or commands a terminal is written out`() {
    logger.warning("Connected to a\u{1B}[2J\r\nb\u{2028}c\u{202E}d\u{7F}\u{85}é👩‍👧")
    #expect(lines == ["Connected to a\\u{1B}[2J\\u{D}\\u{A}b\\u{2028}c\\u{202E}d\\u{7F}\\u{85}é👩‍👧"])
    // Whoever wraps twice escapes once.
    logger.plain.plain.info("a\nb")
    #expect(lines.last == "a\\u{A}b")
  }

  @Test func `lines of one kind and address come at a rate, and the next one tells how many did not`() {
    let log = ConnectionLog(logger)
    for port in 0..<1_000 {
      log.write(.info, .connected, from: endpoint("10.0.0.1", port), at: .seconds(1), "line \(port)")
    }
    #expect(lines.count == ConnectionLog.burst)
    // Other kinds and addresses have their own.
    log.write(.info, .disconnected, from: endpoint("10.0.0.1"), at: .seconds(1), "other kind")
    log.write(.info, .connected, from: endpoint("10.0.0.2"), at: .seconds(1), "other address")
    #expect(lines.suffix(2) == ["other kind", "other address"])
    log.write(.info, .connected, from: endpoint("10.0.0.1"), at: .seconds(62), "late")
    #expect(lines.last == "late (\(1_000 - ConnectionLog.burst) lines of this kind were passed over)")
    log.write(.info, .connected, from: endpoint("10.0.0.1"), at: .seconds(63), "again")
    #expect(lines.count == ConnectionLog.burst + 3)
  }

  @Test func `addresses without number have one rate together, and no one's takes another's`() {
    let log = ConnectionLog(logger)
    let count = ConnectionLog.addresses + 500
    for host in 0..<count { log.write(.info, .connected, from: endpoint("h\(host)"), at: .zero, "\(host)") }
    #expect(lines.count == ConnectionLog.addresses + ConnectionLog.burst)
    for _ in 0..<20 { log.write(.info, .connected, from: endpoint("h0"), at: .zero, "known") }
    #expect(lines.count { $0 == "known" } == ConnectionLog.burst - 1)
    // Who is quiet for long is forgotten.
    log.write(.info, .connected, from: endpoint("new"), at: ConnectionLog.interval * 9, "new")
    #expect(lines.last == "new")
  }

  @Test func `a second address of a connected peer is usual, and a site that is not proved is not`() {
    #expect(SessionEnd.session(.siteIsConnected).isUsual(afterHello: false))
    #expect(SessionEnd.session(SyncError(.siteClash, "The peer says so")).isUsual(afterHello: false))
    #expect(!SessionEnd.session(.unprovenSite).isUsual(afterHello: false))
    // A copy of a connected peer.
    #expect(!SessionEnd.session(SyncError(.keyClash, "A copy")).isUsual(afterHello: false))
  }

  @Test func `what the level hides costs nobody a line`() {
    let log = ConnectionLog(logger)
    for _ in 0..<100 { log.write(.debug, .session, from: endpoint("a"), at: .zero, "hidden") }
    log.write(.warning, .session, from: endpoint("a"), at: .zero, "shown")
    #expect(lines == ["shown"])
  }
}
