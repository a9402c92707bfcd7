#if TLS
  import CRDTCore
  import SyncProtocol
  import TestKit
  import Testing

  @testable import Links

  @Suite struct PresenceSignatureTests {
    @Test func `a signature holds for its bytes, key and application, and for nothing else`() throws {
      let (key, other) = (DeviceKey(), DeviceKey())
      let secret = (0..<32).map { UInt8($0) &* 11 | 0x81 }
      let credentials = try PeerCredentials(sharedKey: secret, application: "test", key: key)
      let content = Array("what a peer says".utf8)
      let signature = try credentials.sign(presence: content)
      #expect(signature.count == 64)
      #expect(key.peerKey.hasSigned(signature, presence: content, of: "test"))
      #expect(!other.peerKey.hasSigned(signature, presence: content, of: "test"))
      #expect(!key.peerKey.hasSigned(signature, presence: content, of: "tests"))
      #expect(!key.peerKey.hasSigned([], presence: content, of: "test"))
      for place in content.indices {
        var wrong = content
        wrong[place] ^= 1
        expect(!key.peerKey.hasSigned(signature, presence: wrong, of: "test"))
      }
      for place in signature.indices {
        var wrong = signature
        wrong[place] ^= 1
        expect(!key.peerKey.hasSigned(wrong, presence: content, of: "test"))
      }
    }

    @Test func `the end of the application's id is not the beginning of the content`() throws {
      let key = DeviceKey()
      let secret = (0..<32).map { UInt8($0) &* 11 | 0x81 }
      let credentials = try PeerCredentials(sharedKey: secret, application: "test", key: key)
      let signature = try credentials.sign(presence: Array("xyz".utf8))
      #expect(!key.peerKey.hasSigned(signature, presence: Array("yz".utf8), of: "testx"))
    }
  }
#endif
