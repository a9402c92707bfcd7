import DocStore
import Transports

/// How peers of the benchmark prove who they are, where they do.
enum PeerProof {
  /// The key that all share.
  static let sharedKey = (0..<32).map { UInt8($0) &* 37 | 0x80 }

  #if TLS
    private static let device = DeviceKey()

    /// Has the store's site follow from the process's key.
    static func prepare(_ options: inout StoreOptions) {
      let key = device.peerKey
      options.siteOfSalt = { (salt, _) throws(StoreError) in key.site(salt: salt) }
    }

    static func prove(_ network: PeerNetwork) throws {
      network.prove(
        with: try PeerCredentials(sharedKey: sharedKey, application: "benchmark", key: device))
    }
  #endif
}
