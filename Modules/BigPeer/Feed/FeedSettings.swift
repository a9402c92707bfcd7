#if Server
  /// Limits of an application's change feed.
  public struct FeedSettings: Sendable, Hashable {
    /// The maximum number of streams of server-sent events at once.
    public var streams = 512
    /// The maximum number of streams of one key at once.
    var streamsByKey: Int { max(1, streams / 4) }
    /// How often a stream without changes sends a sign of life with its position.
    public var heartbeat = Duration.seconds(15)
    /// The maximum number of registered webhooks.
    public var webhooks = 64
    /// Whether webhooks may use addresses of this machine and of private networks, there also without TLS.
    public var allowsPrivateAddresses = false
    /// The file with the authorities (PEM) for verifying webhooks' certificates; `nil` uses the system's.
    public var webhookAuthorities: String?
    /// The maximum time of a delivery.
    public var deliveryTime = Duration.seconds(5)
    /// The wait after a failed delivery; it doubles each time, up to `longestRetryTime`.
    public var retryTime = Duration.seconds(1)
    /// The longest wait between two attempts.
    public var longestRetryTime = Duration.seconds(300)
    /// How long a webhook may fail until it is paused.
    public var pauseTime = Duration.seconds(86_400)

    /// Makes the default limits.
    public init() {}
  }
#endif
