import ArgumentParser

#if Server
  import BigPeer
  import Facade
  import Foundation
  import Logging
  import PeerControl
  import ServiceLifecycle
  import UnixSignals

  @main
  struct BigPeerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "bigpeer",
      abstract: "A server for many devices and for web back ends, with embedded stores.",
      discussion: """
        Examples:
          bigpeer run --data /var/lib/bigpeer
          bigpeer run --config bigpeer.json
          bigpeer check --config bigpeer.json
          bigpeer key make --data /var/lib/bigpeer --name shop --right write

        Settings come from flags, then from the environment (BIGPEER_DATA, BIGPEER_HTTP and so on; each other one by BIGPEER__ and its path, \
        such as BIGPEER__http__limits__rows), then from the configuration.

        Status: 0 done, 1 not done, 3 something is damaged (verify), 64 a command line that cannot be understood, 78 a mistake in the \
        configuration.
        """, version: "bigpeer \(Dunlin.version)",
      subcommands: [
        RunCommand.self, CheckCommand.self, StatusCommand.self, KeyCommand.self, DevicesCommand.self,
        RevokeCommand.self, AuditCommand.self, BackupCommand.self, BackupsCommand.self, ExportCommand.self,
        RestoreCommand.self, ResumeCommand.self, VerifyCommand.self, ReloadCommand.self, EvictCommand.self,
        HealthCommand.self, RulesCommand.self,
      ])

    static func main() async {
      do {
        var command = try parseAsRoot()
        if var command = command as? any AsyncParsableCommand {
          try await command.run()
        } else {
          try command.run()
        }
      } catch let error as ConfigurationError {
        for mistake in error.all { ErrorText.write("Error: \(mistake)") }
        exit(withError: ExitCode(ExitStatus.configuration))
      } catch {
        let (message, code) = (fullMessage(for: error), exitCode(for: error))
        guard !code.isSuccess, ErrorText.isColored, message.hasPrefix(ErrorText.label) else {
          exit(withError: error)
        }
        ErrorText.write(message)
        Foundation.exit(code.rawValue)
      }
    }
  }

  /// Where settings come from.
  struct SettingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The configuration.", valueName: "file"), completion: .file())
    var config: String?
    @Option(
      help: ArgumentHelp("The directory with all that the big peer keeps.", valueName: "directory"),
      completion: .directory)
    var data: String?
    @Option(help: ArgumentHelp("The application's id; default where nothing says another.", valueName: "id"))
    var application: String?
    @Option(help: ArgumentHelp("Where devices connect to by TCP, or off.", valueName: "host:port,…"))
    var devices: String?
    @Option(
      help: ArgumentHelp(
        "Where devices connect to by WebSocket, behind a web proxy.", valueName: "host:port,…"))
    var websocket: String?
    @Option(help: ArgumentHelp("Where the HTTP API listens, or off.", valueName: "host:port"))
    var http: String?
    @Option(
      help: ArgumentHelp("The certificate of the HTTP API (PEM).", valueName: "file"), completion: .file())
    var certificate: String?
    @Option(
      help: ArgumentHelp("The certificate's private key (PEM).", valueName: "file"), completion: .file())
    var key: String?
    @Option(
      help: ArgumentHelp(
        "Web proxies that end TLS before the HTTP API: addresses and networks.", valueName: "address,…"))
    var proxies: String?
    @Option(help: ArgumentHelp("Where the admin listens, which is loopback, or off.", valueName: "host:port"))
    var admin: String?
    @Option(
      help: ArgumentHelp(
        "Where health, readiness and figures are read without a token, at any address.",
        valueName: "host:port"))
    var monitor: String?
    @Option(help: "Log lines below this level are not written.")
    var logLevel: String?
    @Option(help: ArgumentHelp("How log lines are written: for people, or as JSON.", valueName: "text|json"))
    var logFormat: String?

    /// What the settings say.
    var configuration: BigPeerConfiguration { get throws { try configuration(naming: application) } }

    /// The configuration of the server that a command asks; `--application` selects one of its applications.
    var ofServer: BigPeerConfiguration {
      get throws {
        let configuration = try configuration(naming: nil)
        let ids = configuration.applications.map(\.id)
        guard let application, ids == [BigPeerConfiguration.Application.defaultID], !ids.contains(application)
        else {
          return configuration
        }
        return try self.configuration(naming: application)
      }
    }

    private func configuration(naming application: String?) throws -> BigPeerConfiguration {
      try BigPeerConfiguration.load(all(naming: application))
    }

    /// The flags and the environment.
    var all: BigPeerSettings { all(naming: application) }

    private func all(naming application: String?) -> BigPeerSettings {
      var settings = BigPeerSettings(environment: ProcessInfo.processInfo.environment)
      settings.set(.config, flag: config)
      settings.set(.data, flag: data)
      settings.set(.application, flag: application)
      settings.set(.devices, flag: devices)
      settings.set(.webSocket, flag: websocket)
      settings.set(.http, flag: http)
      settings.set(.certificate, flag: certificate)
      settings.set(.key, flag: key)
      settings.set(.proxies, flag: proxies)
      settings.set(.admin, flag: admin)
      settings.set(.monitor, flag: monitor)
      settings.set(.logLevel, flag: logLevel)
      settings.set(.logFormat, flag: logFormat)
      return settings
    }
  }

  struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "run", abstract: "Run the server until it is told to stop (SIGTERM or SIGINT).",
      discussion: "SIGHUP has it read the configuration, certificates and keys again, as bigpeer reload does."
    )

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      Allocator.keepLittle()
      let configuration = try settings.configuration
      // A pipe whose reader has gone is an error of the write, and not the end of the process.
      signal(SIGPIPE, SIG_IGN)
      LoggingSystem.bootstrap(
        { _, provider in ServerLog(configuration.logFormat, provider) },
        metadataProvider: RequestTrace.metadataProvider)
      var logger = Logger(label: "bigpeer")
      logger.logLevel = configuration.logLevel
      let bigPeer = BigPeer(configuration, rereading: settings.all, logger: logger) { addresses in
        for application in configuration.applications {
          guard case .sharedKey(nil) = application.identity, addresses.devices[application.id] != nil
          else { continue }
          print("shared key of \(application.id) in \(application.sharedKeyPath)")
        }
        print(addresses)
        print("serving")
        fflush(nil)
      }
      let services = ServiceGroupConfiguration(
        services: [bigPeer, Hangups(bigPeer: bigPeer)], gracefulShutdownSignals: [.sigterm, .sigint],
        logger: logger)
      try await ServiceGroup(configuration: services).run()
    }
  }

  /// Has the configuration, certificates and keys read again whenever the process gets SIGHUP.
  private struct Hangups: Service {
    let bigPeer: BigPeer

    func run() async throws {
      for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
        // The server has logged what is wrong.
        do { try await bigPeer.reload() } catch { continue }
      }
    }
  }

  struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract:
        "Read the configuration, and the files and queries in it, and say what is wrong; nothing is started.",
      discussion: """
        It finds what run would refuse, but for ports in use and a store that cannot be opened. A command that prints the intermediate \
        authority is run.
        """)

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      let configuration = try settings.configuration
      try await configuration.verify()
      print("the configuration is right: \(configuration.applications.map(\.id).joined(separator: ", "))")
    }
  }
#else
  @main
  struct BigPeerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bigpeer")

    func run() throws {
      throw ValidationError("this build has no big peer: build it with --traits Server")
    }
  }
#endif
