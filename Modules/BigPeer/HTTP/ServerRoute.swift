#if Server
  package import Hummingbird
  package import NIOCore

  /// The data that a route has about a request besides the request itself.
  package struct ServerContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The connection.
    package let channel: any Channel
    /// The other end of the connection.
    package let remoteAddress: SocketAddress?
    /// The data that is collected about the request while it is processed.
    package let record = RequestRecord()

    package init(source: ApplicationRequestContextSource) {
      coreContext = CoreRequestContextStorage(source: source)
      channel = source.channel
      remoteAddress = source.channel.remoteAddress
    }
  }

  /// A group of routes of the big peer's HTTP listener.
  package protocol ServerRoute: Sendable {
    /// Adds the routes; it is called once, before the listener starts.
    func add(to router: Router<ServerContext>)
  }
#endif
