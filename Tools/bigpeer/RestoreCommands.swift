#if Server
  import ArgumentParser
  import BigPeer
  import CRDTCore
  import DocStore
  import DunlinControl
  import Facade
  import Foundation

  /// Puts a backup into the place of an application's store.
  struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "restore",
      abstract: "Put a copy of a backup into the place of an application's store; the server must not run.",
      discussion: """
        The backup is read whole first, and stays as it is. Of a series, the newest point is restored, or the one that --at or --point names. The store that was there is kept beside it, and its device key is kept in use.

        Without --as-original the store is a copy that keeps quiet: its webhooks and API keys are paused until bigpeer resume. That is for \
        a server for tests, or for a look before it goes on.
        """)

    @OptionGroup
    var settings: SettingsOptions
    @Flag(help: "The backup takes the place of the store that it is from, which is never opened again.")
    var asOriginal = false
    @Option(
      help: ArgumentHelp(
        "Of a series: the last point made at this time or before, or with no commit after this number.",
        valueName: "time or commit"))
    var at: String?
    @Option(help: ArgumentHelp("Of a series: the point with this number.", valueName: "number"))
    var point: Int?
    @Argument(help: "The directory of the backup, or of a series of backups.", completion: .directory)
    var directory: String

    func validate() throws {
      guard at == nil || point == nil else { throw ValidationError("--at and --point do not go together") }
      guard at.map({ BackupMoment(written: $0) != nil }) ?? true else {
        throw ValidationError("--at takes a time such as 2026-11-30T12:00:00Z, or the number of a commit")
      }
    }

    func run() async throws {
      let configuration = try settings.ofServer
      let all = configuration.applications
      guard settings.application != nil || all.count == 1 else {
        throw CommandError("there are several applications: say which with --application")
      }
      let id = settings.application ?? all[0].id
      guard let application = all.first(where: { $0.id == id }) else {
        throw CommandError("there is no application \(id)")
      }
      let path = URL(filePath: directory).absoluteURL.path(percentEncoded: false)
      do {
        let moment = point.map { BackupMoment.number($0) } ?? at.flatMap { BackupMoment(written: $0) }
        let former = try StoreRestore(
          path, application, asOriginal: asOriginal, at: moment ?? .newest
        ).carryOut()
        let fields: [TextKey: Value] = [
          "application": .string(id), "formerStore": former.map { .string($0) } ?? .null,
          "isRestored": .bool(!asOriginal),
        ]
        print(JSON.text(of: .map(fields)))
      } catch {
        let told = DunlinError.translating(error)
        guard (told as? DunlinError)?.code == .alreadyOpen else { throw CommandError("\(told)") }
        throw CommandError("the backup or the store is open: stop the server first")
      }
    }
  }

  /// Has a server's store take the place of the one that it is a copy of.
  struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "resume",
      abstract: "Have the webhooks and API keys of a restored store go on, which are paused.",
      discussion: """
        For a store that takes the place of the one that it is a copy of. Where both run, each calls the same receivers.
        """)

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      print(JSON.text(of: .map(try await AdminCall(settings).send("POST", "resume"))))
    }
  }
#endif
