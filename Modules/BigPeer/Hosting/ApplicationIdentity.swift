#if Server
  import DocStore
  import Facade
  import Links

  extension BigPeerConfiguration.Application {
    /// The name of the file with the shared key that is made at the first start.
    private static let sharedKeyFile = "shared.key"
    /// The path of the file with the shared key that is made at the first start.
    public var sharedKeyPath: String { "\(folder)/\(Self.sharedKeyFile)" }
    /// The directory of the store.
    var storePath: String { "\(folder)/store" }

    private var sharedKey: SecretFile { SecretFile(Self.sharedKeyFile, in: folder) }

    /// The shared key that an earlier start has made; `nil` if there is none.
    func ownSharedKey() throws -> DunlinSharedKey? {
      try sharedKey.read(atMost: 1_024).map { try DunlinSharedKey(String(decoding: $0, as: UTF8.self)) }
    }

    /// The contents of the files with the shared key; one that does not exist yet is made.
    ///
    /// - Parameter material: The contents of the files.
    /// - Returns: The same, and no shared key is missing.
    /// - Throws: Why a key cannot be made.
    func withSharedKey(_ material: ApplicationMaterial) throws -> ApplicationMaterial {
      guard case .sharedKey(nil) = material.identity else { return material }
      var material = material
      // An opening since the files were read may have made it.
      if let key = try ownSharedKey() {
        material.identity = .sharedKey(key)
      } else {
        let key = DunlinSharedKey()
        try sharedKey.replace(by: Array("\(key.text)\n".utf8))
        material.identity = .sharedKey(key)
      }
      return material
    }

    /// The configured identity.
    ///
    /// - Parameter material: The contents of the files, with a shared key that exists.
    /// - Returns: The identity.
    /// - Throws: Why there is none.
    func dunlinIdentity(_ material: ApplicationMaterial) throws -> DunlinIdentity {
      switch material.identity {
      case .development: return .unsafeDevelopment(appID: id)
      case .sharedKey(let key?): return .sharedKey(appID: id, key: key)
      case .sharedKey(nil): throw BigPeerError("there is no shared key")
      case .certificate(let authority, let certificate):
        return .certificate(appID: id, authority: authority, certificate: certificate)
      case .intermediate(let issuer):
        return .certificate(
          appID: id, authority: try issuer.trusted.pem,
          certificate: try issuer.issueOwn(to: try DunlinDevice.publicKey(path: storePath)))
      }
    }
  }
#endif
