#if Server
  import ArgumentParser
  import BigPeer
  import CRDTCore
  import PeerControl

  /// Shows how the applications of a server that runs on this machine stand.
  struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show how each application of the server stands, each as a line of JSON.",
      discussion: """
        It asks the control socket in the data directory. There dunlin works, too: dunlin status, top, why and query take the data \
        directory as the store, with --application if there are several.
        """)

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      let data = try settings.ofServer.data
      guard let all = try RunningPeer.applications(in: data) else {
        throw CommandError(
          "no server answers in \(data): it does not run, or admin.controlSocket is false in its configuration"
        )
      }
      let chosen = all.filter { settings.application == nil || $0.id == settings.application }
      guard !chosen.isEmpty else {
        throw CommandError("there is no application \(settings.application ?? "")")
      }
      for application in chosen {
        guard let peer = try RunningPeer.of(store: data, application: application.id) else {
          throw CommandError("the server has ended")
        }
        print(JSON.text(of: .map(try peer.ask("status"))))
      }
    }
  }
#endif
