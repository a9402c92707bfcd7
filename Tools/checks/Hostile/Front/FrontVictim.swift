import CRDTCore
import Foundation
import PeerControl
import Synchronization

/// A big peer in a process of its own, with keys for its HTTP API.
final class FrontVictim: Sendable {
  /// How long it may take until it serves.
  private static let patience = Duration.seconds(30)

  let port: Int
  private let adminPort: Int
  private let directory: URL
  private let process: Process

  /// Starts a big peer.
  ///
  /// - Parameters:
  ///   - program: The path of `bigpeer`.
  ///   - limits: Members of `http.limits` in its configuration.
  /// - Throws: Where it does not serve in time.
  init(program: String, limits: [TextKey: Value]) async throws {
    (directory, _) = try SceneDirectories.make()
    let ports = (0..<2).map { _ in Int.random(in: 20_000..<32_000) }
    (port, adminPort) = (ports[0], ports[1])
    let configuration = Value.map([
      "data": .string(directory.path),
      "applications": .array([.map(["id": .string("default"), "devices": .map(["listen": .array([])])])]),
      "http": .map(["listen": .string("127.0.0.1:\(port)"), "limits": .map(limits)]),
      "admin": .map(["listen": .string("127.0.0.1:\(adminPort)")]),
    ])
    let file = directory.appendingPathComponent("bigpeer.json")
    try JSON.text(of: configuration).write(to: file, atomically: true, encoding: .utf8)
    process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["run", "--config", file.path]
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let end = ContinuousClock.now + Self.patience
    while await ask(adminPort, "GET", "/readyz", token: "", "")?.status != 200 {
      guard ContinuousClock.now < end, process.isRunning else {
        process.terminate()
        throw PeerError("the big peer does not serve")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  var processID: Int32 { process.processIdentifier }

  var hasEnded: Bool { !process.isRunning }

  var path: String { directory.path }

  /// Makes an API key.
  ///
  /// - Throws: Where the big peer makes none.
  func makeKey(_ right: String) async throws -> String {
    let file = directory.appendingPathComponent("admin.token")
    let token = try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    let body = "{\"name\":\"hostile\",\"right\":\"\(right)\"}"
    let answer = await ask(adminPort, "POST", "/admin/applications/default/keys", token: token, body)
    guard let answer, case .map(let fields)? = try? JSON.parse(answer.body),
      case .string(let key)? = fields["token"]
    else { throw PeerError("the big peer makes no key") }
    return key
  }

  /// Executes a statement.
  ///
  /// - Throws: Where it is not carried out.
  func execute(_ key: String, _ body: String) async throws {
    let answer = await ask(port, "POST", "/api/v4/store/execute", token: key, body)
    guard answer?.status == 200 else {
      throw PeerError(
        "a statement was not carried out: \(answer.map { String(decoding: $0.body, as: UTF8.self) } ?? "")")
    }
  }

  private func ask(
    _ port: Int, _ method: String, _ path: String, token: String, _ body: String
  ) async -> RawSocket.Answer? {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let socket = RawSocket(port: port)
        socket?.write(Self.request(method, path, token: token, body))
        continuation.resume(returning: socket?.readAnswer())
      }
    }
  }

  /// The bytes of a request.
  ///
  /// - Parameters:
  ///   - method: Its method.
  ///   - path: Its path.
  ///   - token: The key.
  ///   - body: Its body.
  ///   - headers: Further lines, each with its end.
  /// - Returns: The bytes.
  static func request(
    _ method: String = "POST", _ path: String = "/api/v4/store/execute", token: String, _ body: String,
    headers: String = ""
  ) -> [UInt8] {
    Array(
      """
      \(method) \(path) HTTP/1.1\r
      Host: localhost\r
      Authorization: Bearer \(token)\r
      Content-Type: application/json\r
      Content-Length: \(body.utf8.count)\r
      \(headers)\r
      \(body)
      """.utf8)
  }

  /// Ends the process, and removes its directory.
  func end() {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: directory)
  }
}
