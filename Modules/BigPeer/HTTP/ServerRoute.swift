#if Server
  package import Hummingbird
  package import NIOCore

  /// What a route of the big peer knows about a request beside the request.
  package struct ServerContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The connection.
    package let channel: any Channel
    /// The other end of the connection.
    package let remoteAddress: SocketAddress?
    /// What becomes known of the request while it is answered.
    package let record = RequestRecord()

    package init(source: ApplicationRequestContextSource) {
      coreContext = CoreRequestContextStorage(source: source)
      channel = source.channel
      remoteAddress = source.channel.remoteAddress
    }
  }

  /// Some routes of the big peer's HTTP listener.
  package protocol ServerRoute: Sendable {
    /// Adds them; it is called once, before the listener starts.
    func add(to router: Router<ServerContext>)
  }
#endif
