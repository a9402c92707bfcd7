#if Server
  import ArgumentParser
  import BigPeer
  import CRDTCore
  import Foundation
  import Transports

  /// The API keys of a server that runs on this machine.
  struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "key",
      abstract: "Make, list and revoke the API keys of web back ends, at the server that runs here.",
      discussion: """
        Example: a key that may write, for 90 days.
          bigpeer key make --data /var/lib/bigpeer --name shop --right write --days 90
        """, subcommands: [MakeKeyCommand.self, ListKeysCommand.self, RevokeKeyCommand.self])
  }

  struct MakeKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "make", abstract: "Make a key and print it; it is shown this once.")

    @OptionGroup
    var settings: SettingsOptions
    @Option(help: "What the key is called.")
    var name: String
    @Option(help: "read or write.")
    var right = "read"
    @Option(help: "Days for which it holds; for ever when not given.")
    var days: Int?

    /// A hundred years.
    private static let longest = 36_600

    func validate() throws {
      guard days.map({ 1...Self.longest ~= $0 }) ?? true else {
        throw ValidationError("--days takes a whole number from 1 to \(Self.longest)")
      }
    }

    func run() async throws {
      var fields: [TextKey: Value] = ["name": .string(name), "right": .string(right)]
      if let days { fields["seconds"] = .int(Int64(days) * 86_400) }
      let answer = try await AdminCall(settings).send("POST", "keys", fields)
      guard case .string(let token)? = answer["token"] else { throw CommandError("the server made no key") }
      print(token)
    }
  }

  struct ListKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the keys, each as a line of JSON.")

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      guard case .array(let keys)? = try await AdminCall(settings).send("GET", "keys")["keys"] else { return }
      for key in keys { print(JSON.text(of: key)) }
    }
  }

  struct RevokeKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", abstract: "Revoke a key: it is refused from now on.")

    @OptionGroup
    var settings: SettingsOptions
    @Argument(help: "The key's id, as list shows it: the middle of the key's text.")
    var id: String

    func run() async throws {
      _ = try await AdminCall(settings).send("DELETE", "keys/\(AdminCall.escaped(id))")
    }
  }

  struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup",
      abstract: "Copy an application's store into a new directory while the server runs.")

    @OptionGroup
    var settings: SettingsOptions
    @Argument(help: "A directory that does not exist yet.", completion: .directory)
    var directory: String

    func run() async throws {
      let path = URL(filePath: directory).absoluteURL.path(percentEncoded: false)
      _ = try await AdminCall(settings, limit: AdminCall.longest).send(
        "POST", "backup", ["directory": .string(path)])
    }
  }

  struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Read an application's whole store while the server runs, and name all that is damaged.")

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      let report = try await AdminCall(settings, limit: AdminCall.longest).send("POST", "verify")
      print(JSON.text(of: .map(report)))
      guard report["isIntact"] == .bool(true) else { throw ExitCode(3) }
    }
  }

  struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "devices", abstract: "List the devices that are connected, each as a line of JSON.")

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      guard case .array(let devices)? = try await AdminCall(settings).send("GET", "devices")["devices"]
      else { return }
      for device in devices { print(JSON.text(of: device)) }
    }
  }

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

    private let client: HTTPSClient
    private let address: ListenAddress
    private let token: String
    private let path: String

    init(_ settings: SettingsOptions, limit: Duration = .seconds(30)) throws {
      let configuration = try settings.ofServer
      guard let address = configuration.admin.listen else {
        throw CommandError("the server's configuration switches the admin's listener off")
      }
      let application = settings.application ?? configuration.applications[0].id
      guard configuration.applications.contains(where: { $0.id == application }) else {
        throw CommandError("there is no application \(application)")
      }
      if settings.application == nil, configuration.applications.count > 1 {
        throw CommandError("there are several applications: say which with --application")
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
      path = "/admin/applications/\(Self.escaped(application))"
    }

    /// A text as a part of a path.
    static func escaped(_ text: String) -> String {
      let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
      return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }

    func send(_ method: String, _ what: String, _ fields: [TextKey: Value]? = nil) async throws
      -> [TextKey: Value]
    {
      var body: [UInt8] = []
      if let fields { JSON.write(.map(fields), to: &body) }
      let answer = try await ask(method, "http://\(address)\(path)/\(what)", body)
      var members: [TextKey: Value] = [:]
      if case .map(let map)? = try? JSON.parse(answer.body) { members = map }
      guard 200..<300 ~= answer.status else {
        if case .string(let detail)? = members["detail"] { throw CommandError(detail) }
        throw CommandError("the server answered with status \(answer.status)")
      }
      return members
    }

    private func ask(_ method: String, _ url: String, _ body: [UInt8]) async throws -> HTTPSAnswer {
      do {
        return try await client.send(
          method, body, headers: [(name: "Authorization", value: "Bearer \(token)")],
          to: HTTPSAddress(request: url, allowsPlain: true))
      } catch let error as LoginError where error.code == .unreachable {
        throw CommandError("nobody answers at \(address): \(error.message)")
      } catch let error as AddressFault {
        throw CommandError("\(url) is no address: \(error.reason)")
      }
    }
  }
#endif
