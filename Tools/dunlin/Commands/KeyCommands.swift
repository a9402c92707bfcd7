#if TLS
  import ArgumentParser
  import Facade
  import Foundation

  struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "key", abstract: "Make a shared key, or show a device's key.",
      subcommands: [Make.self, Show.self], defaultSubcommand: Make.self)

    struct Make: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "make", abstract: "Make a key that all peers of an application share.",
        discussion:
          "Whoever has it is a member of the application and can do everything; it proves nothing else.")

      @Option(
        help: ArgumentHelp(
          "Where to; only its owner can read the file. Standard output when not given.", valueName: "file"))
      var out: String?

      func run() throws { try TextFile.put(DunlinSharedKey().text + "\n", to: out, isSecret: true) }
    }

    struct Show: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the public key of a device, for which certificates are issued.",
        discussion: "Where the database has no key yet, it is made.")

      @Argument(help: "The database's directory; made when there is none.")
      var store: String

      func run() throws { print(try DunlinDevice.publicKey(path: store)) }
    }
  }

  struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "ca", abstract: "Make or show an application's certificate authority.",
      subcommands: [Make.self, Show.self])

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
      @Option(help: ArgumentHelp("Where to; only its owner can read the file.", valueName: "file"))
      var out: String

      func validate() throws { try Validity.check(days) }

      func run() throws {
        let authority = try DunlinAuthority(appID: app, validity: Validity.fromNow(days))
        try TextFile.write(try authority.text, to: out, isSecret: true)
        print(
          "The authority of \(app) is in \(out), and valid until \(authority.validUntil.formatted(.iso8601))")
      }
    }

    struct Show: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print an authority's certificate, which all peers are given.")

      @Argument(help: "The authority's file.")
      var file: String

      func run() throws {
        print(try DunlinAuthority(text: try TextFile.read(file)).certificate, terminator: "")
      }
    }
  }

  struct CertificateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "cert", abstract: "Issue, show or renew a device's certificate.",
      subcommands: [Issue.self, Show.self, Renew.self])

    struct Issue: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "issue", abstract: "Issue a certificate for a device's key.")

      @OptionGroup var options: IssueOptions
      @Option(help: ArgumentHelp("The device's key, as dunlin key show prints it.", valueName: "digits"))
      var key: String
      @Option(help: "The user that the device stands for.")
      var user: String?

      func run() throws { try options.issue(by: options.opened, for: key, user: user) }
    }

    struct Show: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print what a certificate says.")

      @Argument(help: "The certificate's file.")
      var file: String

      func run() throws {
        let certificate = try DunlinCertificate(text: try TextFile.read(file))
        print("application  \(certificate.appID)")
        print("user         \(certificate.user ?? "none")")
        print("device key   \(certificate.deviceKey)")
        print("valid from   \(certificate.validFrom.formatted(.iso8601))")
        print("valid until  \(certificate.validUntil.formatted(.iso8601))")
      }
    }

    struct Renew: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "renew", abstract: "Issue a certificate for the key and the user of another one.",
        discussion: "The former one holds until its end.")

      @OptionGroup var options: IssueOptions
      @Argument(help: "The former certificate's file.")
      var file: String

      func run() throws {
        let authority = try options.opened
        let former = try DunlinCertificate(text: try TextFile.read(file))
        guard former.appID == authority.appID else {
          throw ToolError(
            "\(file): the certificate is for \(former.appID), and the authority for \(authority.appID)")
        }
        try options.issue(by: authority, for: former.deviceKey, user: former.user)
      }
    }
  }

  /// What every certificate is issued with.
  struct IssueOptions: ParsableArguments {
    @Option(name: .customLong("ca"), help: ArgumentHelp("The authority's file.", valueName: "file"))
    var authority: String
    @Option(help: ArgumentHelp("For how long it holds, from now on.", valueName: "days"))
    var days = 60
    @Option(help: ArgumentHelp("Where to; standard output when not given.", valueName: "file"))
    var out: String?

    func validate() throws { try Validity.check(days) }

    var opened: DunlinAuthority { get throws { try DunlinAuthority(text: try TextFile.read(authority)) } }

    func issue(by authority: DunlinAuthority, for deviceKey: String, user: String?) throws {
      let text = try authority.issue(deviceKey: deviceKey, user: user, validity: Validity.fromNow(days))
      try TextFile.put(text, to: out, isSecret: false)
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
