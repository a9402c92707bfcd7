import ArgumentParser
import Facade
import Foundation

/// How a peer proves who it is.
struct IdentityOptions: ParsableArguments {
  @Option(help: "Only peers of the same application sync.")
  var app = "dunlin-tool"
  @Option(
    help: ArgumentHelp(
      "Prove membership with the shared key in a file, as dunlin key makes it.", valueName: "file"))
  var sharedKey: String?
  @Option(
    help: ArgumentHelp(
      "Prove who this peer is with the certificate in a file; --authority stands beside it.",
      valueName: "file"))
  var certificate: String?
  @Option(help: ArgumentHelp("The certificate of the application's authority.", valueName: "file"))
  var authority: String?

  func validate() throws {
    guard (certificate == nil) == (authority == nil) else {
      throw ValidationError("--certificate and --authority stand together")
    }
    guard certificate == nil || sharedKey == nil else {
      throw ValidationError("--certificate and --shared-key are two ways to prove something; take one")
    }
    #if !TLS
      guard certificate == nil, sharedKey == nil else {
        throw ValidationError("this build has no TLS, and so no way to prove anything")
      }
    #endif
  }

  /// The identity that the options say.
  var identity: DunlinIdentity {
    get throws {
      #if TLS
        if let sharedKey {
          return .sharedKey(appID: app, key: try DunlinSharedKey(try TextFile.read(sharedKey)))
        }
        if let certificate, let authority {
          return .certificate(
            appID: app, authority: try TextFile.read(authority), certificate: try TextFile.read(certificate))
        }
      #endif
      return .unsafeDevelopment(appID: app)
    }
  }
}

/// Small files of text: keys and certificates.
enum TextFile {
  /// Bytes that one may have.
  private static let limit = 64 << 10

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
