#if Server
  import DocStore
  import Foundation

  /// A text in a file that only its owner can read.
  enum SecretText {
    /// Reads the file.
    ///
    /// - Parameters:
    ///   - path: The file; a symbolic link is refused.
    ///   - limit: The maximum size of the file, in bytes.
    ///   - what: The name of the file's content, for messages.
    /// - Returns: The text; `nil` if it is too long, or not a text.
    /// - Throws: `BigPeerError` that names the file.
    static func read(_ path: String, atMost limit: Int, _ what: String) throws -> String? {
      let url = URL(filePath: path)
      let folder = url.deletingLastPathComponent().path(percentEncoded: false)
      let file = SecretFile(
        url.lastPathComponent, in: String(folder.hasSuffix("/") ? folder.dropLast() : folder[...]))
      let bytes: [UInt8]?
      do {
        bytes = try file.read(atMost: limit)
      } catch {
        throw BigPeerError("\(what): \(error.message)", underlying: error)
      }
      guard let bytes else { throw BigPeerError("\(what): there is no file \(path)") }
      return bytes.count <= limit ? String(validating: bytes, as: UTF8.self) : nil
    }
  }

  extension BigPeerConfiguration.Login.SecretSource {
    /// Reads the secret, without surrounding white space.
    ///
    /// - Parameter environment: The environment variables.
    /// - Returns: The secret.
    /// - Throws: `BigPeerError` that names the source and the mistake; it never contains the secret.
    package func text(
      environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> String {
      let (place, read): (String, String?)
      switch self {
      case .file(let path):
        place = "the secret of the login webhook in \(path)"
        // Longer by the white space that may follow.
        read = try SecretText.read(
          path, atMost: Webhook.secretBytes.upperBound + 64, "the secret of the login webhook")
      case .environment(let name):
        place = "the secret of the login webhook in the variable \(name)"
        if let path = environment["\(name)_FILE"], !path.isEmpty {
          read = try SecretText.read(
            path, atMost: Webhook.secretBytes.upperBound + 64, "the secret of the login webhook")
        } else if let value = environment[name] {
          read = value
        } else {
          throw BigPeerError("\(place): there is no such variable, and no \(name)_FILE")
        }
      }
      let secret = read?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
      guard Webhook.secretBytes.contains(secret.utf8.count),
        secret.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
      else {
        let range = Webhook.secretBytes
        throw BigPeerError(
          "\(place): it must be \(range.lowerBound) to \(range.upperBound) printable characters of ASCII")
      }
      return secret
    }
  }
#endif
