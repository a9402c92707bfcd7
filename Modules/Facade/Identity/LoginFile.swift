#if TLS
  import CRDTCore
  import DocStore
  import Foundation

  /// What is kept of logins in the file `login` of the database's directory, which only its owner can read: so that a restart
  /// needs no network.
  ///
  /// Backups and compacted copies of a database do not contain it. It holds no token.
  struct LoginFile {
    /// What is kept.
    struct Content: Hashable {
      var application: String
      /// The authority (PEM), which is kept when the user logs out.
      var authority: String
      /// The certificate (PEM); `nil` when nobody is logged in.
      var certificate: String?
      /// When it was obtained.
      var obtained: Date?
    }

    private static let byteLimit = 32 << 10
    private static let version: Int64 = 1
    private let file: SecretFile
    /// For messages.
    let path: String

    init(directory: HeldDirectory) {
      file = SecretFile("login", in: directory)
      path = directory.name + "/login"
    }

    /// Reads the file.
    ///
    /// - Returns: `nil` when there is none.
    /// - Throws: `permission` where others can read it, `corrupt`, `io`.
    func read() throws -> Content? {
      guard let bytes = try file.read(atMost: Self.byteLimit) else { return nil }
      guard bytes.count <= Self.byteLimit, case .map(let fields)? = try? JSON.parse(bytes),
        fields["version"] == .int(Self.version), case .string(let application)? = fields["application"],
        case .string(let authority)? = fields["authority"]
      else { throw DunlinError(.corrupt, "\(path) is damaged, and what it keeps of the last login is lost") }
      var content = Content(application: application, authority: authority)
      if case .string(let certificate)? = fields["certificate"], case .int(let obtained)? = fields["obtained"]
      {
        content.certificate = certificate
        content.obtained = Date(timeIntervalSince1970: Double(obtained))
      }
      return content
    }

    /// Puts the content in the place of what there is.
    ///
    /// - Throws: `permission`, `full` or `io`; then the old content is there.
    func write(_ content: Content) throws {
      var fields: [TextKey: Value] = [
        "version": .int(Self.version), "application": .string(content.application),
        "authority": .string(content.authority),
      ]
      if let certificate = content.certificate { fields["certificate"] = .string(certificate) }
      if let obtained = content.obtained {
        fields["obtained"] = .int(Int64(obtained.timeIntervalSince1970))
      }
      try file.replace(by: Array(JSON.text(of: .map(fields)).utf8))
    }

    /// Removes the file; has no effect where there is none.
    func remove() throws { try file.remove() }
  }
#endif
