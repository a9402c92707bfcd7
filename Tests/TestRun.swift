import Dispatch
import Testing

/// Runs the tests in the builds of the check, in place of the entry point that SwiftPM writes.
///
/// All tests are of Swift Testing. For its own entry point SwiftPM would look for tests of XCTest in the index, which would have to be
/// written in each build. With this one it runs Swift Testing only where it is told to. It is not `async`: of an optimised program, the compiler names a part of an asynchronous `main` as that of
/// any other, and the linker would take the one of `bigpeer`, which is in this program too.
@main
enum TestRun {
  static func main() {
    let arguments = CommandLine.arguments
    // SwiftPM asks for the tests of XCTest first, and has them run, of which there are none. It then names Swift Testing.
    guard !arguments.contains("--dump-tests-json") else { return print(#"{"name":"All tests","tests":[]}"#) }
    guard let option = arguments.firstIndex(of: "--testing-library"),
      arguments[option...].dropFirst().first == "swift-testing"
    else { return }
    Task { await Testing.__swiftPMEntryPoint() as Never }
    dispatchMain()
  }
}
