#if Server
  import Crypto
  package import Foundation

  /// Proves to a receiver that a delivery comes from this server, and when it was sent.
  ///
  /// The header is `Dunlin-Signature: t=1700000000,v1=<hex>`. It has the HMAC-SHA256, with the webhook's
  /// secret as the key, of the seconds, a full stop and the body. A receiver should compare in constant time,
  /// and refuse signatures that are too old. While a webhook has two secrets, there is a `v1` for each.
  package enum WebhookSignature {
    package static let header = "Dunlin-Signature"

    /// The header's value.
    package static func value(_ body: [UInt8], secret: String, at time: Date) -> String {
      value(body, secrets: [secret], at: time)
    }

    /// The header's value with a signature for each of several secrets.
    package static func value(_ body: [UInt8], secrets: [String], at time: Date) -> String {
      let seconds = Int64(time.timeIntervalSince1970)
      let signatures = secrets.map { secret in
        var mac = HMAC<SHA256>(key: SymmetricKey(data: Data(secret.utf8)))
        mac.update(data: Data("\(seconds).".utf8))
        mac.update(data: body)
        let digits = mac.finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return ",v1=\(digits)"
      }
      return "t=\(seconds)\(signatures.joined())"
    }

    /// A secret of 256 random bits.
    static func newSecret() -> String {
      var random = SystemRandomNumberGenerator()
      let bytes = (0..<4).flatMap { _ in withUnsafeBytes(of: random.next() as UInt64) { Array($0) } }
      return "whsec_" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }
#endif
