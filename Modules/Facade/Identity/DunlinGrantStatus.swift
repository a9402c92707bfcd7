#if TLS
  public import Foundation

  /// What this device's certificate grants it, and what it subscribes to beyond that.
  public struct DunlinGrantStatus: Hashable, Sendable {
    /// A subscription to a collection that the device may not read as a whole.
    public struct Subscription: Hashable, Sendable {
      /// The subscription: `SELECT * FROM cars WHERE …`.
      public let query: String
      /// How much of its collection the device may read.
      public let reading: DunlinGrantedReading
    }

    /// The name of the rules.
    public let rulesName: String
    /// The SHA-256 of the grant in hexadecimal digits, as the certificate has it.
    public let sha256: String
    /// When the certificate ends.
    public let validUntil: Date
    /// The subscriptions that the grant does not cover, or may not cover.
    public let uncovered: [Subscription]
  }

  extension Dunlin {
    /// What this device's certificate grants it; `nil` if it grants everything, or there is none.
    public var grantStatus: DunlinGrantStatus? {
      core.sync.identity?.own.status
    }
  }
#endif
