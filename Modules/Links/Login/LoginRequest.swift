#if TLS
  package import CRDTCore
  import Crypto
  import Foundation

  /// A device's request to a login service: a token, and the proof that the device has the key to certify.
  ///
  /// The signature covers everything else. So nobody who sees a request can use it for another key, and no
  /// service can use it at another one. `Documentation/Security.md` has the format.
  package struct LoginRequest: Hashable, Sendable {
    /// The maximum size of a provider's name in bytes.
    package static let providerBytes = 128
    /// The maximum size of a token in bytes.
    package static let tokenBytes = 16 << 10
    /// The maximum number of characters in a challenge.
    package static let challengeBytes = 512
    static let version: Int64 = 1

    package let application: String
    /// The name of the service's way to verify this token.
    package let provider: String
    package let token: String
    package let deviceKey: PeerKey
    /// The challenge that the service has just sent.
    package let challenge: String
    /// The signature: ECDSA with SHA-256, in DER form.
    package let signature: [UInt8]

    /// Makes and signs a request.
    ///
    /// - Parameters:
    ///   - application: The application's id.
    ///   - provider: The name of the service's way to verify this token.
    ///   - token: The token that proves to the service who the user is.
    ///   - challenge: The challenge that the service has just sent.
    ///   - key: The device's key.
    ///   - address: The service.
    /// - Throws: `argument` when a text is too long or cannot be signed.
    package init(
      application: String, provider: String, token: String, challenge: String, key: DeviceKey,
      address: HTTPSAddress
    ) throws(LoginError) {
      try Self.check(application, "an application's id", PeerExtension.textBytes)
      try Self.check(provider, "a provider's name", Self.providerBytes)
      guard 1...Self.tokenBytes ~= token.utf8.count else {
        throw LoginError(
          .argument, "A token has 1 to \(Self.tokenBytes) bytes, this one \(token.utf8.count)")
      }
      self.application = application
      self.provider = provider
      self.token = token
      self.challenge = challenge
      deviceKey = key.peerKey
      let statement = Self.statement(application, provider, token, challenge, key.peerKey, address)
      do {
        signature = Array(try key.key.signature(for: statement).derRepresentation)
      } catch {
        throw LoginError(.argument, "The device's key cannot sign: \(error)")
      }
    }

    /// The text that is signed: seven lines.
    ///
    /// No part can contain a line end.
    private static func statement(
      _ application: String, _ provider: String, _ token: String, _ challenge: String, _ key: PeerKey,
      _ address: HTTPSAddress
    ) -> [UInt8] {
      let hash = SHA256.hash(data: Array(token.utf8)).map {
        String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
      }
      let lines = [
        "dunlin login 1", "\(address)", application, provider, "\(key)", challenge, hash.joined(),
      ]
      return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// Whether the device with the key has signed the request for the service at an address.
    package func isSigned(for address: HTTPSAddress) -> Bool {
      guard let key = try? P256.Signing.PublicKey(compressedRepresentation: deviceKey.bytes),
        let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
      else { return false }
      let statement = Self.statement(application, provider, token, challenge, deviceKey, address)
      return key.isValidSignature(signature, for: statement)
    }

    private static func check(_ text: String, _ what: String, _ limit: Int) throws(LoginError) {
      guard 1...limit ~= text.utf8.count, !text.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
        throw LoginError(
          .argument, "For a login, \(what) has 1 to \(limit) bytes and no control characters")
      }
    }
  }

  extension LoginRequest {
    /// The request as JSON text.
    package var json: [UInt8] {
      var bytes: [UInt8] = []
      JSON.write(
        .map([
          "version": .int(Self.version), "application": .string(application), "provider": .string(provider),
          "token": .string(token), "deviceKey": .string("\(deviceKey)"), "challenge": .string(challenge),
          "signature": .string(JSON.base64(signature)),
        ]), to: &bytes)
      return bytes
    }

    /// Reads the JSON text, as a service does.
    ///
    /// It does not verify the signature.
    ///
    /// - Throws: `argument`, saying what is wrong.
    package init(json: [UInt8]) throws(LoginError) {
      guard let object = JSON.object(json) else {
        throw LoginError(.argument, "A login is a JSON object")
      }
      var fields = JSONMembers<LoginError>(object)
      guard fields.value("version") == .int(Self.version) else {
        throw LoginError(.argument, "A login has the version \(Self.version)")
      }
      application = try fields.requiredText("application", bytes: PeerExtension.textBytes)
      provider = try fields.requiredText("provider", bytes: Self.providerBytes)
      token = try fields.requiredText("token", bytes: Self.tokenBytes)
      challenge = try fields.requiredText("challenge", bytes: Self.challengeBytes)
      guard let signature = Data(base64Encoded: try fields.requiredText("signature", bytes: 128)) else {
        throw LoginError(.argument, "A login's signature is written in Base64")
      }
      self.signature = Array(signature)
      do {
        deviceKey = try PeerKey(
          hexadecimal: try fields.requiredText("deviceKey", bytes: 2 * PeerKey.byteCount))
      } catch let error as LinkError {
        throw LoginError(.argument, error.message)
      } catch {
        throw LoginError(.argument, "\(error)")
      }
      try Self.check(application, "an application's id", PeerExtension.textBytes)
      try Self.check(provider, "a provider's name", Self.providerBytes)
    }
  }

  extension LoginError: JSONMemberError {
    package init(_ mistake: JSONMistake) {
      let sentence =
        switch mistake.reason {
        case .missing(.text(let bytes)), .kind(.text(let bytes)), .bounds(.text(let bytes)):
          "A login has the text \"\(mistake.name.text)\" of at most \(bytes.upperBound) bytes"
        case .noObject, .missing, .kind, .bounds, .unread, .words:
          "In a login, \(mistake.path) \(mistake.sentence)"
        }
      self.init(.argument, sentence)
    }
  }

  extension JSON {
    /// The fields of an object; `nil` for anything else.
    static func object(_ bytes: [UInt8]) -> [TextKey: Value]? {
      guard case .map(let fields)? = try? parse(bytes) else { return nil }
      return fields
    }
  }
#endif
