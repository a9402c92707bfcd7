import Foundation
import Transports

extension Dunlin {
  /// The version of this library.
  public static let version = "0.1.0"
}

extension PeerNetwork.Device {
  /// Describes this device to peers that ask for presence.
  init(name: String) {
    self.init(
      name: name, system: ProcessInfo.processInfo.operatingSystemVersionString, release: Dunlin.version)
  }
}
