#if Server
  import ArgumentParser
  import CRDTCore
  import DocStore
  import DunlinControl
  import Foundation

  struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup",
      abstract:
        "Copy an application's store into a new directory, or add its state to a series, while the server runs.",
      discussion: """
        With --series the directory gets a file with the pages that differ from the last point there; the first file, and one with \
        --base, has all of them. The server writes it, so the directory is one of the machine that it runs on.

        Examples:
          bigpeer backup --data /var/lib/bigpeer /backup/today
          bigpeer backup --data /var/lib/bigpeer --series /backup/shop
        """)

    @OptionGroup
    var settings: SettingsOptions
    @Argument(
      help: "A directory that does not exist yet; with --series that of the series.", completion: .directory)
    var directory: String
    @Flag(help: "Add a point to the series in the directory.")
    var series = false
    @Flag(help: "Begin with a new base, so that older points can be pruned; with --series alone.")
    var base = false

    func validate() throws {
      guard series || !base else { throw ValidationError("--base is for --series") }
    }

    func run() async throws {
      let path = URL(filePath: directory).absoluteURL.path(percentEncoded: false)
      var fields: [TextKey: Value] = ["directory": .string(path)]
      if series { fields["series"] = .bool(true) }
      if base { fields["base"] = .bool(true) }
      let answer = try await AdminCall(settings, limit: AdminCall.longest).send("POST", "backup", fields)
      print(JSON.text(of: .map(answer)))
    }
  }

  /// Lists, checks or prunes a series of backups, which needs no server.
  struct BackupsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backups",
      abstract: "List, check or prune the points of a series of backups, each as a line of JSON.",
      discussion: """
        --check reads every file, and names the first one that is damaged or missing. --prune-before removes what no restore to that \
        time or a later one needs, and prints what it has removed.
        """)

    @Argument(help: "The directory of the series.", completion: .directory)
    var directory: String
    @Flag(help: "Read every file whole, and check all checksums.")
    var check = false
    @Option(
      help: ArgumentHelp("Remove points that only restores to earlier moments need.", valueName: "time"))
    var pruneBefore: String?

    func validate() throws {
      guard pruneBefore.map({ BackupMoment.milliseconds($0) != nil }) ?? true else {
        throw ValidationError("--prune-before takes a time such as 2026-11-30T12:00:00Z")
      }
      guard !check || pruneBefore == nil else {
        throw ValidationError("--check and --prune-before do not go together")
      }
    }

    func run() throws {
      for point in try points() { print(JSON.text(of: .map(point.values))) }
    }

    private func points() throws -> [BackupPoint] {
      do {
        if let time = pruneBefore.flatMap({ BackupMoment.milliseconds($0) }) {
          return try Store.pruneBackups(inSeries: directory, before: time)
        }
        return check
          ? try Store.verifyBackups(inSeries: directory) : try Store.backups(inSeries: directory)
      } catch let error as StoreError {
        ErrorText.write("\(ErrorText.label) \(error)")
        throw ExitCode(error.code == .corrupt ? ExitStatus.damaged : 1)
      }
    }
  }

  /// Writes the documents of an application into a file while the server runs.
  struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write an application's documents as JSON Lines while the server runs.",
      discussion: """
        Of one collection, each line is a document as dunlin import reads it. Without --collection each line has the members \
        collection and document. A document that changes meanwhile is as it was before or after; a backup is of one moment.

        A file that is there is replaced with --force alone, when the new one is whole.

        Examples:
          bigpeer export --data /var/lib/bigpeer shop.jsonl
          bigpeer export --data /var/lib/bigpeer --collection orders orders.jsonl
        """)

    @OptionGroup
    var settings: SettingsOptions
    @Option(help: "One collection alone.")
    var collection: String?
    @Flag(help: "Replace the file if it is there.")
    var force = false
    @Argument(help: "A file, or - for standard output.", completion: .file())
    var file = "-"

    func run() async throws {
      let query = collection.map { "?collection=\(AdminCall.escaped($0))" } ?? ""
      let call = try AdminCall(settings, limit: AdminCall.longest)
      guard file != "-" else {
        return try await call.receive("export\(query)") {
          try FileHandle.standardOutput.write(contentsOf: $0)
        }
      }
      guard force || !FileManager.default.fileExists(atPath: file) else {
        throw CommandError("\(file) is there already: --force replaces it")
      }
      let draft = file + ".partial"
      guard
        FileManager.default.createFile(atPath: draft, contents: nil, attributes: [.posixPermissions: 0o600])
      else { throw CommandError("\(draft) cannot be written") }
      do {
        let output = try FileHandle(forWritingTo: URL(filePath: draft))
        try await call.receive("export\(query)") { try output.write(contentsOf: $0) }
        try output.synchronize()
        try output.close()
        guard rename(draft, file) == 0 else { throw CommandError("\(file) cannot be written") }
      } catch {
        try? FileManager.default.removeItem(atPath: draft)
        throw error
      }
    }
  }
#endif
