import Foundation
import Transports

extension Dunlin {
  /// The version of this library.
  public static let version = "0.1.0"
}

extension PeerNetwork.Device {
  /// What is told of this device to peers that ask.
  init(name: String) {
    self.init(
      name: name, system: ProcessInfo.processInfo.operatingSystemVersionString, release: Dunlin.version)
  }
}
