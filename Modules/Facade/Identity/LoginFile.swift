#if TLS
  import CRDTCore
  import DocStore
  import Foundation

  /// The file `login` in the database's directory, which stores the last login.
  ///
  /// With it, a restart needs no network. Only the file's owner can read it. Backups and compacted copies of
  /// a database do not contain it. It contains no token.
  struct LoginFile {
    /// The content of the file.
    struct Content: Hashable {
      var application: String
      /// The authority (PEM), which stays when the user logs out.
      var authority: String
      /// The certificate (PEM); `nil` when no user is logged in.
      var certificate: String?
      /// When the certificate was obtained.
      var obtained: Date?
    }

    private static let byteLimit = 96 << 10
    private static let version: Int64 = 1
    private let file: SecretFile
    /// The path, for messages.
    let path: String

    init(directory: HeldDirectory) {
      file = SecretFile("login", in: directory)
      path = directory.name + "/login"
    }

    /// Reads the file.
    ///
    /// - Returns: The content, `nil` when there is no file.
    /// - Throws: `permission` when others can read the file, `corrupt`, `io`.
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

    /// Replaces the content of the file.
    ///
    /// - Throws: `permission`, `full` or `io`; the old content then stays.
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

    /// Removes the file; has no effect if there is none.
    func remove() throws { try file.remove() }
  }
#endif
