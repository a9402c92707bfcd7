#if Server
  import DocStore
  import Facade
  import Foundation
  import Transports

  extension BigPeerConfiguration.Application {
    /// The file with the shared key that is made at the first start.
    private static let sharedKeyFile = "shared.key"
    /// The path of the file with the shared key that is made at the first start.
    public var sharedKeyPath: String { "\(folder)/\(Self.sharedKeyFile)" }

    /// Bytes that a file with a key or with certificates may have.
    private static let textBytes = 64 << 10

    /// The identity that the configuration says; a shared key that is not there yet is made.
    ///
    /// - Parameters:
    ///   - issuer: The intermediate authority, where the application has a login endpoint.
    ///   - store: The directory of the store, which has the device key.
    /// - Returns: The identity.
    /// - Throws: `BigPeerError` that names the file.
    func dunlinIdentity(issuer: LoginIssuer?, store: String) throws -> DunlinIdentity {
      switch identity {
      case .intermediate:
        guard let issuer else {
          throw BigPeerError("without a login endpoint there is no intermediate authority to prove itself by")
        }
        return .certificate(
          appID: id, authority: try issuer.trusted.pem,
          certificate: try issuer.issueOwn(to: try DunlinDevice.publicKey(path: store)))
      case .development: return .unsafeDevelopment(appID: id)
      case .sharedKey(let file):
        let key = try file.map { try DunlinSharedKey(try Self.text(of: $0)) } ?? ownKey()
        return .sharedKey(appID: id, key: key)
      case .certificate(let authority, let certificate):
        let text = try Self.text(of: authority)
        if let issuer, !issuer.isOf(try TrustedAuthority(pem: text)) {
          throw BigPeerError(
            "the file \(authority) is of another authority than that of the intermediate one for logins")
        }
        return .certificate(appID: id, authority: text, certificate: try Self.text(of: certificate))
      }
    }

    private func ownKey() throws -> DunlinSharedKey {
      let file = SecretFile(Self.sharedKeyFile, in: folder)
      if let bytes = try file.read(atMost: 1_024) {
        return try DunlinSharedKey(String(decoding: bytes, as: UTF8.self))
      }
      let key = DunlinSharedKey()
      try file.replace(by: Array("\(key.text)\n".utf8))
      return key
    }

    private static func text(of path: String) throws -> String {
      let bytes: Data
      do {
        bytes = try FileHandle(forReadingFrom: URL(filePath: path)).read(upToCount: textBytes + 1) ?? Data()
      } catch {
        throw BigPeerError("the file \(path) cannot be read: \(error.localizedDescription)")
      }
      guard bytes.count <= textBytes, let text = String(bytes: bytes, encoding: .utf8) else {
        throw BigPeerError("the file \(path) is no key and no certificate")
      }
      return text
    }
  }
#endif
