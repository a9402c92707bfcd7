package import CRDTCore

/// A secret that the peers of one application share, so that only they recognize each other.
///
/// A tag names the application for a day. An instance names a peer for as long as it advertises. Those who
/// know the secret can check whether an instance is that of a connected site. To others it is random.
package struct DiscoverySecret: Sendable {
  /// The size of a code in bytes.
  static let codeBytes = 16
  /// The random bytes of an instance, and the bytes of the code that follow.
  private static let (saltBytes, proofBytes) = (8, 8)

  /// The authentication code of some bytes under the secret.
  private let code: @Sendable ([UInt8]) -> [UInt8]

  /// Takes the function that makes codes.
  ///
  /// - Parameter code: Makes ``codeBytes`` bytes that nobody can make without the secret.
  package init(code: @escaping @Sendable ([UInt8]) -> [UInt8]) { self.code = code }

  /// The secret of peers that prove nothing: their application's id, which everybody may know.
  package static func unsafeDevelopment(application: String) -> DiscoverySecret {
    DiscoverySecret { bytes in
      let name = Array(application.utf8)
      let hash = HashLanes((name + bytes).span.bytes, seed: UInt64(name.count))
      return [hash.first, hash.second].flatMap { $0.bigEndianBytes }
    }
  }

  /// The tag of a group of peers on a day; days are counted in UTC since 1970-01-01.
  package func tag(ofDay day: Int, group: UInt32 = 0) -> String {
    let parts = [UInt64(bitPattern: Int64(day)), UInt64(group)]
    return hexadecimal(code(Array("tag".utf8) + parts.flatMap(\.bigEndianBytes)))
  }

  /// An instance of a site.
  ///
  /// - Parameters:
  ///   - site: The site.
  ///   - salt: A random number.
  /// - Returns: 32 hexadecimal digits.
  package func instance(of site: SiteID, salt: UInt64) -> String {
    let salt = salt.bigEndianBytes
    return hexadecimal(salt + proof(site, salt))
  }

  /// Whether an instance belongs to a site.
  package func isInstance(_ instance: String, of site: SiteID) -> Bool {
    let salt = instance.utf8.prefix(2 * Self.saltBytes)
    guard instance.utf8.count == 2 * (Self.saltBytes + Self.proofBytes),
      let number = UInt64(String(decoding: salt, as: UTF8.self), radix: 16)
    else { return false }
    return self.instance(of: site, salt: number) == instance
  }

  private func proof(_ site: SiteID, _ salt: [UInt8]) -> [UInt8] {
    Array(
      code(Array("instance".utf8) + salt + site.high.bigEndianBytes + site.low.bigEndianBytes)
        .prefix(Self.proofBytes))
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}

extension UInt64 {
  fileprivate var bigEndianBytes: [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> UInt64($0)) }
  }
}
