import Dispatch
import Testing

/// Runs the tests in the builds of the check, in place of the entry point that SwiftPM writes.
///
/// All tests use Swift Testing. SwiftPM's own entry point would look for XCTest tests in the index, which
/// each build would have to write. This one runs only Swift Testing.
///
/// It is not `async`. In an optimised program, the compiler gives a part of an asynchronous `main` the same
/// name as in any other one. The linker would then take that of `bigpeer`, which is in this program, too.
@main
enum TestRun {
  static func main() {
    let arguments = CommandLine.arguments
    // SwiftPM first asks for the XCTest tests and has them run; there are none. It then asks for Swift
    // Testing.
    guard !arguments.contains("--dump-tests-json") else { return print(#"{"name":"All tests","tests":[]}"#) }
    guard let option = arguments.firstIndex(of: "--testing-library"),
      arguments[option...].dropFirst().first == "swift-testing"
    else { return }
    Task { await Testing.__swiftPMEntryPoint() as Never }
    dispatchMain()
  }
}
