#if Server
  import BigPeer
  import CRDTCore
  import Foundation
  import Links
  import Synchronization

  /// Something that the user of a command must know.
  struct CommandError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// A call of the listener for who runs the server, at the server that runs with the same settings.
  struct AdminCall {
    /// How long a call may take that reads a whole store.
    static let longest = Duration.seconds(86_400)
    /// Bytes of an answer.
    private static let answerBytes = 256 << 20

    private var client: HTTPSClient
    private let address: ListenAddress
    private let token: String
    private let applications: [String]
    private let chosen: String?

    init(_ settings: SettingsOptions, limit: Duration = .seconds(30)) throws {
      let configuration = try settings.ofServer
      // The server has written where it really listens, such as on a free port that the system has chosen.
      let written = settings.admin == nil ? AdminAddress.read(in: configuration.data) : nil
      guard let address = written ?? configuration.admin.listen else {
        throw CommandError("the server's configuration switches the admin's listener off")
      }
      let file = "\(configuration.data)/\(AdminToken.file)"
      do {
        token = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(
          in: .whitespacesAndNewlines)
      } catch {
        throw CommandError("\(file) cannot be read: has the server been started with this directory?")
      }
      self.address = address
      var client = HTTPSClient()
      (client.limits.answering, client.limits.bodyBytes) = (limit, Self.answerBytes)
      self.client = client
      applications = configuration.applications.map(\.id)
      chosen = settings.application
    }

    /// A text as a part of a path.
    static func escaped(_ text: String) -> String {
      let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
      return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }

    /// Calls what there is for each application, for the one that is meant.
    func send(_ method: String, _ what: String, _ fields: [TextKey: Value]? = nil) async throws
      -> [TextKey: Value]
    {
      let application = chosen ?? applications[0]
      guard applications.contains(application) else {
        throw CommandError("there is no application \(application)")
      }
      if chosen == nil, applications.count > 1 {
        throw CommandError("there are several applications: say which with --application")
      }
      return try await send(method, server: "applications/\(Self.escaped(application))/\(what)", fields)
    }

    /// Calls what there is for the whole server.
    @discardableResult
    func send(_ method: String, server path: String, _ fields: [TextKey: Value]? = nil) async throws
      -> [TextKey: Value]
    {
      var body: [UInt8] = []
      if let fields { JSON.write(.map(fields), to: &body) }
      let answer = try await ask(method, "http://\(address)/admin/\(path)", body)
      var members: [TextKey: Value] = [:]
      if case .map(let map)? = try? JSON.parse(answer.body) { members = map }
      guard 200..<300 ~= answer.status else {
        if case .string(let detail)? = members["detail"] { throw CommandError(detail) }
        throw CommandError("the server answered with status \(answer.status)")
      }
      return members
    }

    /// Reads a long answer for the application that is meant, and passes on its bytes as they arrive.
    ///
    /// - Throws: Why there is no whole answer; what `take` throws.
    func receive(
      _ what: String, _ method: String = "GET", _ fields: [TextKey: Value]? = nil,
      _ take: @escaping @Sendable (Data) throws -> Void
    ) async throws {
      var call = self
      let failure = Mutex<(any Error)?>(nil)
      call.client.receive = { bytes in
        do { try take(Data(bytes)) } catch {
          failure.withLock { $0 = error }
          throw error
        }
      }
      do { _ = try await call.send(method, what, fields) } catch {
        throw failure.withLock { $0 } ?? error
      }
    }

    private func ask(_ method: String, _ url: String, _ body: [UInt8]) async throws -> HTTPSAnswer {
      do {
        return try await client.send(
          method, body, headers: [(name: "Authorization", value: "Bearer \(token)")],
          to: HTTPSAddress(request: url, allowsPlain: true))
      } catch let error as WebError where error.code == .unreachable {
        throw CommandError("nobody answers at \(address): \(error.message)")
      } catch let error as AddressFault {
        throw CommandError("\(url) is no address: \(error.reason)")
      }
    }
  }
#endif
