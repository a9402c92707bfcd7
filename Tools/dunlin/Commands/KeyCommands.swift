#if TLS
  import ArgumentParser
  import CRDTCore
  import Facade
  import Foundation
  import Links
  import SyncProtocol

  struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "key", abstract: "Make a shared key, or show a device's key.",
      discussion: """
        Examples:
          dunlin key --out key.txt
          dunlin key show store
        """,
      subcommands: [Make.self, Show.self], defaultSubcommand: Make.self)

    struct Make: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "make", abstract: "Make a key that all peers of an application share.",
        discussion:
          "Whoever has it is a member of the application and can do everything; it proves nothing else.")

      @Option(
        help: ArgumentHelp(
          "Where to; only its owner can read the file. Standard output when not given.", valueName: "file"),
        completion: .file())
      var out: String?
      @Flag(help: "Print one JSON object: the key, or the file that has it.")
      var json = false

      func run() throws {
        let key = DunlinSharedKey().text
        guard json else { return try TextFile.put(key + "\n", to: out, isSecret: true) }
        if let out { try TextFile.write(key + "\n", to: out, isSecret: true) }
        try Output.print(json: out.map { ["file": .string($0)] } ?? ["key": .string(key)])
      }
    }

    struct Show: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the public key of a device, for which certificates are issued.",
        discussion: "Where the database has no key yet, it is made.")

      @Argument(help: "The database's directory; made when there is none.", completion: .directory)
      var store: String
      @Flag(help: "Print one JSON object.")
      var json = false

      func run() throws {
        let key = try DunlinDevice.publicKey(path: store)
        guard json else { return print(key) }
        try Output.print(json: ["deviceKey": .string(key)])
      }
    }
  }

  struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "ca", abstract: "Make or show an application's certificate authority, or revoke with it.",
      discussion: """
        Examples:
          dunlin ca make --app com.example.orders --out ca.pem
          dunlin ca show ca.pem > ca-certificate.pem
          dunlin ca intermediate --ca ca.pem --days 90 --out server.pem
          dunlin ca revoke ca.pem --list revoked.list --key 03ab…
        """,
      subcommands: [Make.self, Intermediate.self, Show.self, Revoke.self, Revocations.self])

    struct Make: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "make", abstract: "Make an authority: its private key and its certificate.",
        discussion:
          "Keep the file where no peer is: whoever has it can be every peer. Peers are given what ca show prints."
      )

      @Option(help: "The application's id.")
      var app: String
      @Option(help: ArgumentHelp("For how long it may issue, from now on.", valueName: "days"))
      var days = 3_650
      @Option(
        help: ArgumentHelp("Where to; only its owner can read the file.", valueName: "file"),
        completion: .file())
      var out: String
      @Flag(help: "Print one JSON object.")
      var json = false

      func validate() throws { try Validity.check(days) }

      func run() throws {
        let authority = try DunlinAuthority(appID: app, validity: Validity.fromNow(days))
        try TextFile.write(try authority.text, to: out, isSecret: true)
        if json {
          return try Output.print(json: [
            "application": .string(app), "file": .string(out),
            "validUntil": .string(authority.validUntil.timeText),
          ])
        }
        print(
          "The authority of \(app) is in \(out), and valid until \(authority.validUntil.timeText)")
      }
    }

    struct Intermediate: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "intermediate",
        abstract: "Make an intermediate authority, with which a server issues certificates of devices.",
        discussion: """
          The authority's own file can then stay offline. Peers are given nothing new. What the intermediate authority has issued ends \
          with it, so make another one in time; the former one holds until its end.
          """)

      @Option(
        name: .customLong("ca"), help: ArgumentHelp("The authority's file.", valueName: "file"),
        completion: .file())
      var authority: String
      @Option(help: ArgumentHelp("For how long it may issue, from now on.", valueName: "days"))
      var days = 90
      @Option(
        help: ArgumentHelp("Where to; only its owner can read the file.", valueName: "file"),
        completion: .file())
      var out: String
      @Flag(help: "Print one JSON object.")
      var json = false

      func validate() throws { try Validity.check(days) }

      func run() throws {
        let made = try DunlinAuthority(text: try TextFile.readSecret(authority)).makeIntermediate(
          validity: Validity.fromNow(days))
        try TextFile.write(try made.text, to: out, isSecret: true)
        let end = made.validUntil.timeText
        if json {
          return try Output.print(json: [
            "application": .string(made.appID), "file": .string(out), "validUntil": .string(end),
          ])
        }
        print("The intermediate authority of \(made.appID) is in \(out), and valid until \(end)")
      }
    }

    struct Show: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print an authority's certificate, which all peers are given.",
        discussion: "Of an intermediate authority it is the certificate of its parent.")

      @Argument(help: "The authority's file.", completion: .file())
      var file: String
      @Flag(help: "Print one JSON object.")
      var json = false

      func run() throws {
        let certificate = try DunlinAuthority(text: try TextFile.readSecret(file)).certificate
        guard json else { return print(certificate, terminator: "") }
        try Output.print(json: ["certificate": .string(certificate)])
      }
    }
  }

  struct CertificateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "cert", abstract: "Issue, show or renew a device's certificate.",
      discussion: """
        Examples:
          dunlin cert issue --ca ca.pem --key "$(dunlin key show store)" --user ann
          dunlin cert issue --ca ca.pem --key "$(dunlin key show cloud)" --kind big
          dunlin cert show ann.pem --json
          dunlin cert renew --ca ca.pem ann.pem --out ann-next.pem
        """,
      subcommands: [Issue.self, Show.self, Renew.self])

    struct Issue: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "issue", abstract: "Issue a certificate for a device's key.")

      @OptionGroup var options: IssueOptions
      @Option(help: ArgumentHelp("The device's key, as dunlin key show prints it.", valueName: "digits"))
      var key: String
      @Option(help: "The user that the device stands for.")
      var user: String?
      @Option(help: "small (a device) or big (the cloud peer). Others refuse a peer that says it is another.")
      var kind = PeerRole.small
      @Option(
        help: ArgumentHelp(
          "What the device may read, such as {\"rules\":\"waiter.json\",\"claims\":{\"team\":\"red\"}}; everything when not given.",
          valueName: "file"), completion: .file())
      var grant: String?

      func validate() throws {
        guard grant == nil || kind == .small else {
          throw ValidationError("--grant is for devices; a big peer may read everything")
        }
      }

      func run() throws {
        let authority = try options.opened
        guard let grant else {
          return try options.issue(by: authority, for: key, user: user, kind: kind.peerKind)
        }
        try options.put(
          authority.issue(
            deviceKey: key, user: user, grant: GrantFile.grant(grant), validity: options.validity))
      }
    }

    struct Show: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print what a certificate says.")

      @Argument(help: "The certificate's file.", completion: .file())
      var file: String
      @Flag(help: "Print one JSON object.")
      var json = false

      func run() throws {
        let certificate = try DunlinCertificate(text: try TextFile.read(file))
        if json { return try Output.print(json: certificate.values) }
        print("application  \(certificate.appID)")
        print("user         \(certificate.user ?? "none")")
        print("kind         \(certificate.kind)")
        print("grant        \(certificate.hasGrant ? "yes" : "none: everything")")
        print("device key   \(certificate.deviceKey)")
        print("valid from   \(certificate.validFrom.timeText)")
        print("valid until  \(certificate.validUntil.timeText)")
      }
    }

    struct Renew: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "renew",
        abstract: "Issue a certificate for the key, the user and the kind of another one.",
        discussion: "The former one holds until its end.")

      @OptionGroup var options: IssueOptions
      @Option(help: "small (a device) or big (the cloud peer); that of the other one when not given.")
      var kind: PeerRole?
      @Argument(help: "The former certificate's file.", completion: .file())
      var file: String

      func run() throws {
        let authority = try options.opened
        let former = try DunlinCertificate(text: try TextFile.read(file))
        guard former.appID == authority.appID else {
          throw ToolError(
            "\(file): the certificate is for \(former.appID), and the authority for \(authority.appID)")
        }
        guard !former.hasGrant else {
          throw ToolError(
            "\(file): the certificate has a grant: issue the next one with dunlin cert issue --grant")
        }
        try options.issue(
          by: authority, for: former.deviceKey, user: former.user, kind: kind?.peerKind ?? former.kind)
      }
    }
  }

  /// What every certificate is issued with.
  struct IssueOptions: ParsableArguments {
    @Option(
      name: .customLong("ca"), help: ArgumentHelp("The authority's file.", valueName: "file"),
      completion: .file())
    var authority: String
    @Option(help: ArgumentHelp("For how long it holds, from now on.", valueName: "days"))
    var days = 60
    @Option(
      help: ArgumentHelp("Where to; standard output when not given.", valueName: "file"),
      completion: .file())
    var out: String?
    @Flag(help: "Print one JSON object: what the certificate says, and it or its file.")
    var json = false

    func validate() throws { try Validity.check(days) }

    var opened: DunlinAuthority {
      get throws { try DunlinAuthority(text: try TextFile.readSecret(authority)) }
    }

    func issue(
      by authority: DunlinAuthority, for deviceKey: String, user: String?, kind: DunlinPeerKind
    ) throws {
      try put(authority.issue(deviceKey: deviceKey, user: user, kind: kind, validity: validity))
    }

    /// For how long the certificate holds.
    var validity: Range<Date> { Validity.fromNow(days) }

    /// Prints the certificate, or writes it to its file.
    func put(_ text: String) throws {
      guard json else { return try TextFile.put(text, to: out, isSecret: false) }
      if let out { try TextFile.write(text, to: out, isSecret: false) }
      var values = try DunlinCertificate(text: text).values
      if let out { values["file"] = .string(out) } else { values["certificate"] = .string(text) }
      try Output.print(json: values)
    }
  }

  extension DunlinCertificate {
    /// What commands print of it as JSON.
    fileprivate var values: [TextKey: Value] {
      [
        "application": .string(appID), "user": user.map { .string($0) } ?? .null,
        "kind": .string("\(kind)"), "hasGrant": .bool(hasGrant), "deviceKey": .string(deviceKey),
        "validFrom": .string(validFrom.timeText),
        "validUntil": .string(validUntil.timeText),
      ]
    }
  }

  /// For how long something holds.
  private enum Validity {
    static func check(_ days: Int) throws {
      guard 1...36_500 ~= days else { throw ValidationError("--days is a number from 1 to 36500") }
    }

    /// From an hour ago, since clocks differ.
    static func fromNow(_ days: Int) -> Range<Date> {
      let now = Date()
      return now.addingTimeInterval(-3_600)..<now.addingTimeInterval(Double(days) * 86_400)
    }
  }
#endif
