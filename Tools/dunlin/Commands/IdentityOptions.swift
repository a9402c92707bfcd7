import ArgumentParser
import DocStore
import Facade
import Foundation

/// How a peer proves who it is.
struct IdentityOptions: ParsableArguments {
  @Option(help: "Only peers of the same application sync.")
  var app = "dunlin-tool"
  @Option(
    help: ArgumentHelp(
      "Prove membership with the shared key in a file, as dunlin key makes it.", valueName: "file"),
    completion: .file())
  var sharedKey: String?
  @Option(
    help: ArgumentHelp(
      "Prove who this peer is with the certificate in a file; --authority stands beside it.",
      valueName: "file"), completion: .file())
  var certificate: String?
  @Option(
    help: ArgumentHelp("The certificate of the application's authority.", valueName: "file"),
    completion: .file())
  var authority: String?
  @Option(
    help: ArgumentHelp(
      "Get a certificate from a login service: https://host/path. The token is read anew for each login, from --token-file or from the environment's DUNLIN_TOKEN.",
      valueName: "url"))
  var login: String?
  @Option(help: ArgumentHelp("The file with the token for --login.", valueName: "file"), completion: .file())
  var tokenFile: String?
  @Option(help: ArgumentHelp("How the login service verifies the token.", valueName: "name"))
  var provider: String?
  @Option(
    help: ArgumentHelp(
      "The authorities that a wss:// server or a login service is verified against; the system's when not given.",
      valueName: "file"), completion: .file())
  var webAuthority: String?

  func validate() throws {
    let proofs = [certificate, sharedKey, login].compactMap(\.self)
    guard proofs.count <= 1 else {
      throw ValidationError("--certificate, --shared-key and --login are ways to prove something; take one")
    }
    guard certificate == nil || authority != nil else {
      throw ValidationError("--certificate and --authority stand together")
    }
    guard authority == nil || certificate != nil || login != nil else {
      throw ValidationError("--authority stands beside --certificate or --login")
    }
    guard login != nil || tokenFile == nil && provider == nil else {
      throw ValidationError("--token-file and --provider stand beside --login")
    }
    guard login == nil || provider != nil else {
      throw ValidationError("--login needs --provider, the service's name for the kind of token")
    }
    #if !TLS
      guard proofs.isEmpty else {
        throw ValidationError("this build has no TLS, and so no way to prove anything")
      }
    #endif
  }

  /// The identity that the options say.
  var identity: DunlinIdentity {
    get throws {
      #if TLS
        if let sharedKey {
          return .sharedKey(appID: app, key: try DunlinSharedKey(try TextFile.readSecret(sharedKey)))
        }
        if let certificate, let authority {
          return .certificate(
            appID: app, authority: try TextFile.read(authority), certificate: try TextFile.read(certificate))
        }
        if let login, let provider {
          _ = try Token.read(from: tokenFile)
          return .online(appID: app, url: login, authority: try authority.map(TextFile.read)) {
            [tokenFile] authenticator in
            try await authenticator.login(token: try Token.read(from: tokenFile), provider: provider)
          }
        }
      #endif
      return .unsafeDevelopment(appID: app)
    }
  }
}

/// What a login is made with; never an argument, which other users of the machine could see.
private enum Token {
  /// Reads it from a file, or from the environment where none is named.
  static func read(from file: String?) throws -> String {
    if let file { return try TextFile.readSecret(file).trimmingCharacters(in: .whitespacesAndNewlines) }
    guard let token = ProcessInfo.processInfo.environment["DUNLIN_TOKEN"], !token.isEmpty else {
      throw ToolError("--login needs a token: name its file with --token-file, or set DUNLIN_TOKEN")
    }
    return token
  }
}

/// Small files of text: keys and certificates.
enum TextFile {
  /// Bytes that one may have.
  private static let limit = 64 << 10

  /// Reads a file that only its owner can read, and refuses any other.
  static func readSecret(_ path: String) throws -> String {
    do {
      try SecretFile.check(path) { line in FileHandle.standardError.write(Data("\(line)\n".utf8)) }
    } catch  where error.code == .permission && FileManager.default.isReadableFile(atPath: path) {
      throw ToolError(error.message)
    } catch {
      // What is wrong with it is told below.
    }
    return try read(path)
  }

  static func read(_ path: String) throws -> String {
    let handle: FileHandle
    do {
      handle = try FileHandle(forReadingFrom: URL(filePath: path))
    } catch {
      throw ToolError("\(path): \(error.localizedDescription)")
    }
    let bytes = try handle.read(upToCount: limit + 1) ?? Data()
    guard bytes.count <= limit, let text = String(bytes: bytes, encoding: .utf8) else {
      throw ToolError("\(path): this is no file with a key or a certificate")
    }
    return text
  }

  /// Writes a file that is not there yet; a secret one only its owner can read.
  static func write(_ text: String, to path: String, isSecret: Bool) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isSecret ? 0o600 : 0o644)
    guard descriptor >= 0 else { throw ToolError("\(path): \(String(cString: strerror(errno)))") }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    try handle.write(contentsOf: Data(text.utf8))
    try handle.synchronize()
  }

  /// Writes to a file, or to standard output where none is named.
  static func put(_ text: String, to path: String?, isSecret: Bool) throws {
    guard let path else { return print(text, terminator: text.hasSuffix("\n") ? "" : "\n") }
    try write(text, to: path, isSecret: isSecret)
  }
}
