import CZlib
import Facade
import Foundation

/// What `--version` prints: the version, and what it was built with.
enum VersionText {
  static var text: String {
    """
    dunlin \(Dunlin.version)
    Swift \(compiler), \(configuration) build, \(platform)
    TLS \(tls), zlib \(String(cString: zlibVersion()))
    """
  }

  /// The compiler's version, as far as a program can know it.
  private static var compiler: String {
    #if compiler(>=6.5)
      "6.5 or newer"
    #elseif compiler(>=6.4)
      "6.4"
    #elseif compiler(>=6.3.1)
      "6.3.1"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }

  private static var configuration: String {
    #if DEBUG
      "debug"
    #else
      "release"
    #endif
  }

  private static var platform: String {
    #if os(Linux)
      let system = "Linux"
    #elseif os(macOS)
      let system = "macOS"
    #else
      let system = "another system"
    #endif
    #if arch(x86_64)
      return "\(system) x86_64"
    #elseif arch(arm64)
      return "\(system) arm64"
    #else
      return system
    #endif
  }

  private static var tls: String {
    #if TLS
      "yes"
    #else
      "no"
    #endif
  }
}
