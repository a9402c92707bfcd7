#if Server
  /// Bounds of an application's change feed.
  public struct FeedSettings: Sendable, Hashable {
    /// Streams of server-sent events at once.
    public var streams = 512
    /// Streams of one key at once.
    var streamsByKey: Int { max(1, streams / 4) }
    /// How often a stream without changes says that it is there, and where it stands.
    public var heartbeat = Duration.seconds(15)
    /// Webhooks that may be registered.
    public var webhooks = 64
    /// Whether webhooks may be at addresses of this machine and of private networks, there also without TLS.
    public var allowsPrivateAddresses = false
    /// The file with the authorities (PEM) that webhooks' certificates are verified against; `nil` takes the system's.
    public var webhookAuthorities: String?
    /// How long a delivery may take.
    public var deliveryTime = Duration.seconds(5)
    /// How long to wait after a delivery that failed; each time twice as long, up to the second value.
    public var retryTime = Duration.seconds(1)
    /// The longest wait between two attempts.
    public var longestRetryTime = Duration.seconds(300)
    /// How long a webhook may fail until it is paused.
    public var pauseTime = Duration.seconds(86_400)

    /// The default bounds.
    public init() {}
  }
#endif
