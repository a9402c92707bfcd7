/// What a peer reports about itself and about the peers that are present.
public struct PeerReport: Sendable {
  /// A subscription of the peer.
  public struct Subscription: Sendable {
    /// The query as one statement.
    public let query: String
    /// Whether documents are evicted when they no longer match.
    public let evicts: Bool
    /// How much of the collection the peer's grant lets it read: `nothing` or `some`; `nil` for all.
    public let granted: String?

    /// Makes a subscription of its values.
    public init(query: String, evicts: Bool, granted: String? = nil) {
      (self.query, self.evicts, self.granted) = (query, evicts, granted)
    }
  }

  /// What the peer's certificate grants it.
  public struct Grant: Sendable {
    /// The name of the rules.
    public let name: String
    /// The SHA-256 of the grant in hexadecimal digits, as the certificate has it.
    public let sha256: String
    /// When the certificate ends, as a text.
    public let validUntil: String

    /// Makes a grant of its values.
    public init(name: String, sha256: String, validUntil: String) {
      (self.name, self.sha256, self.validUntil) = (name, sha256, validUntil)
    }
  }

  /// The peer itself.
  public let own: ReportedPeer
  /// The id of the application.
  public let application: String
  /// The name of the method by which the peer proves its identity.
  public let proof: String
  /// What its certificate grants it; `nil` if that is everything.
  public let grant: Grant?
  /// How long the database has been open.
  public let uptime: Duration
  /// Whether sync is started.
  public let isSyncing: Bool
  /// The addresses that the peer listens on.
  public let listening: [String]
  /// What the peer pulls from others.
  public let subscriptions: [Subscription]
  /// The conditions that keep the peer from reaching others, in words.
  public let conditions: [String]
  /// The other peers that are present.
  public let peers: [ReportedPeer]

  /// Makes a report of its values.
  public init(
    own: ReportedPeer, application: String, proof: String, uptime: Duration, isSyncing: Bool,
    listening: [String], subscriptions: [Subscription], conditions: [String], peers: [ReportedPeer],
    grant: Grant? = nil
  ) {
    (self.own, self.application, self.proof, self.uptime) = (own, application, proof, uptime)
    (self.isSyncing, self.listening, self.subscriptions) = (isSyncing, listening, subscriptions)
    (self.conditions, self.peers, self.grant) = (conditions, peers, grant)
  }
}
