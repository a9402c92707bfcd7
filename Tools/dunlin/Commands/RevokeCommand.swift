#if TLS
  import ArgumentParser
  import CRDTCore
  import Facade
  import Foundation
  import Links

  extension AuthorityCommand {
    struct Revoke: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Add to an authority's revocation list, which spreads to all peers from any of them.",
        discussion: """
          Those that the list names are refused, and their sessions end, at each peer that it reaches. Entries cannot be taken back. \
          Without anything to revoke, a first list without entries is made.

          Keep one list for each authority, and always add to the latest one.

          Examples:
            dunlin ca revoke ca.pem --list revoked.list --key 03ab…
            dunlin ca revoke ca.pem --list revoked.list --user ann --issued-before 2026-11-30T12:00:00Z
            dunlin serve store --certificate ann.pem --authority authority.pem --revocations revoked.list
          """)

      @Argument(
        help: "The authority's file; an intermediate authority has a list of its own.", completion: .file())
      var authority: String
      @Option(
        help: ArgumentHelp("The list; made when there is none.", valueName: "file"), completion: .file())
      var list: String
      @Option(help: ArgumentHelp("A device's key, with all its certificates.", valueName: "digits"))
      var key: [String] = []
      @Option(help: ArgumentHelp("A certificate.", valueName: "file"), completion: .file())
      var certificate: [String] = []
      @Option(
        help: ArgumentHelp(
          "A certificate of this authority, by its serial number in hexadecimal digits.",
          valueName: "digits"))
      var serial: [String] = []
      @Option(help: "A user, whose certificates from before --issued-before are revoked.")
      var user: [String] = []
      @Option(help: ArgumentHelp("For --user; now when not given.", valueName: "time"))
      var issuedBefore: ListTime?
      @Option(
        help: ArgumentHelp(
          "Until when it must be known; the end of the certificate, or of the application's authority, when not given.",
          valueName: "time"))
      var until: ListTime?
      @Flag(help: "Print one JSON object.")
      var json = false

      func validate() throws {
        guard issuedBefore == nil || !user.isEmpty else {
          throw ValidationError("--issued-before stands beside --user")
        }
        guard issuedBefore.map({ $0.date <= Date().addingTimeInterval(300) }) ?? true else {
          throw ValidationError(
            "--issued-before is in the future: it would refuse certificates of later logins, and cannot be taken back"
          )
        }
        guard until == nil || certificate.isEmpty else {
          throw ValidationError("a certificate is revoked until its end: --until stands beside the others")
        }
      }

      func run() throws {
        let issuer = try DunlinAuthority(text: try TextFile.readSecret(authority))
        let former = FileManager.default.fileExists(atPath: list) ? try ListFile.read(list) : nil
        let end = until?.date
        let before = issuedBefore?.date ?? Date()
        let revocations: [DunlinRevocation] =
          key.map { .deviceKey($0, until: end) }
          + (try certificate.map { .certificate(try TextFile.read($0)) })
          + serial.map { .serialNumber($0, until: end) }
          + user.map { .user($0, issuedBefore: before, until: end) }
        let next = try issuer.revoke(revocations, extending: former)
        if next != former { try ListFile.write(next, to: list) }
        let read = try RevocationList(file: next)
        if json { return try Output.print(json: read.values(file: list)) }
        print(
          "\(list): list \(read.head.number) of the authority \(read.head.issuer), entries: \(read.head.count)"
        )
      }
    }

    struct Revocations: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "revocations", abstract: "Print what a revocation list says.",
        discussion: "Nothing is verified: peers do that.")

      @Argument(help: "The list's file.", completion: .file())
      var file: String
      @Flag(help: "Print one JSON object.")
      var json = false

      func run() throws {
        let list = try RevocationList(file: try ListFile.read(file))
        if json { return try Output.print(json: list.values(file: file)) }
        print("authority  \(list.head.issuer)")
        print("number     \(list.head.number)")
        print("entries    \(list.head.count)")
        for entry in list.entries {
          print("  \(entry.words), until \(Date(timeIntervalSince1970: Double(entry.neededUntil)).timeText)")
        }
      }
    }
  }

  extension RevocationList {
    /// What commands print of it as JSON.
    fileprivate func values(file: String) -> [TextKey: Value] {
      [
        "file": .string(file), "issuer": .string("\(head.issuer)"),
        "number": .int(Int64(clamping: head.number)), "entries": .int(Int64(head.count)),
      ]
    }
  }

  extension RevocationEntry {
    /// What it names, for people.
    fileprivate var words: String {
      switch subject {
      case .key(let key): "device key \(key)"
      case .certificate(let issuer, let serialNumber):
        "certificate \(serialNumber.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()) of the authority \(issuer)"
      case .user(let user, let time):
        "certificates of the user \(PlainText.of(user)) from before \(Date(timeIntervalSince1970: Double(time)).timeText)"
      case .unknown(let kind, _): "an entry of the kind \(kind), which a later release knows"
      }
    }
  }

  /// A time on the command line, in ISO 8601.
  struct ListTime: ExpressibleByArgument {
    let date: Date

    init?(argument: String) {
      let styles = [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()]
      guard let date = styles.lazy.compactMap({ try? $0.parse(argument) }).first else { return nil }
      self.date = date
    }
  }

  /// Files with revocation lists.
  enum ListFile {
    static func read(_ path: String) throws -> [UInt8] {
      let handle: FileHandle
      do {
        handle = try FileHandle(forReadingFrom: URL(filePath: path))
      } catch {
        throw ToolError("\(path): \(error.localizedDescription)")
      }
      let bytes = [UInt8](try handle.read(upToCount: RevocationList.fileBytes + 1) ?? Data())
      do {
        _ = try RevocationList(file: bytes)
      } catch {
        throw ToolError("\(path): \(error.message)")
      }
      return bytes
    }

    /// Writes a file in place of an earlier one, which stays if that fails.
    static func write(_ bytes: [UInt8], to path: String) throws {
      let beside = path + ".new"
      do {
        try Data(bytes).write(to: URL(filePath: beside), options: .atomic)
        let handle = try FileHandle(forWritingTo: URL(filePath: beside))
        try handle.synchronize()
        try handle.close()
        guard rename(beside, path) == 0 else { throw ToolError(String(cString: strerror(errno))) }
      } catch let error as ToolError {
        throw ToolError("\(path): \(error)")
      } catch {
        throw ToolError("\(path): \(error.localizedDescription)")
      }
    }
  }
#endif
