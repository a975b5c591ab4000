/*
 * What the C++ headers share: results, handles, and spans.
 *
 * <anycuda/anycuda.hpp> and <anycuda/runtime.hpp> have a class for each noun of the C headers, and
 * a function for each of C's. Each calls that one function and does nothing else, so that C's own
 * descriptions hold: docs/users/cxx.md says how a C declaration becomes one of C++. C++17, with
 * exceptions or without.
 */
#ifndef ACU_CXX_HPP
#define ACU_CXX_HPP

#if __cplusplus < 201703L
#error "anycuda's C++ headers need C++17 or newer: compile with -std=c++17"
#endif

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#if defined(__cpp_exceptions)
#include <exception>
#include <stdexcept>
#endif

#include <anycuda/launch.h>

namespace acu {

/* ---- results ---- */

namespace detail {

/** Returns why the calling thread's last call failed with that code. */
inline const char *why(acu_result code) noexcept {
    if (code == ACU_SUCCESS)
        return "";
    return acu_last_error() == code ? acu_last_error_message() : acu_result_string(code);
}

} // namespace detail

#if defined(__cpp_exceptions)
/** What result::value() throws: a failure's code and, as what(), its text. */
class error : public std::runtime_error {
  public:
    /** Copies the calling thread's last failure, if that is its code. */
    explicit error(acu_result code) : std::runtime_error(detail::why(code)), code_(code) {}

    /** Returns the code, an acu_result_code or CUDA's own. */
    acu_result code() const noexcept { return code_; }

  private:
    acu_result code_;
};
#endif

/** A failure on its way to a result of any type: `return acu::failure{made.code()};` */
struct failure {
    acu_result code;
};

/**
 * A call's result, which the caller must look at: success with a value, or a failure.
 *
 *     if (auto stream = acu::stream::create(0))
 *         return stream->synchronize();
 *     else
 *         return stream.code(); // or std::puts(stream.message())
 *
 * With exceptions `acu::stream::create(0).value()` is the stream, and a failure is thrown.
 */
template <typename T = void> class [[nodiscard]] result {
  public:
    /** Keeps a code, and what the C function has written, also where it failed. */
    result(acu_result code, T value) noexcept : value_(std::move(value)), code_(code) {}

    /** Makes a failure; the value is empty. */
    result(failure failed) noexcept : code_(failed.code) {}

    /** Returns whether the call succeeded. */
    explicit operator bool() const noexcept { return code_ == ACU_SUCCESS; }

    /** Returns the code: ACU_SUCCESS, another acu_result_code, or CUDA's own. */
    acu_result code() const noexcept { return code_; }

    /** Returns why the call failed, until the thread's next failure; "" where it succeeded. */
    const char *message() const noexcept { return detail::why(code_); }

    /** Returns the value; after a failure what the C function has written, an empty handle or 0. */
    T &operator*() & noexcept { return value_; }
    const T &operator*() const & noexcept { return value_; }
    T &&operator*() && noexcept { return std::move(value_); }
    T *operator->() noexcept { return std::addressof(value_); }
    const T *operator->() const noexcept { return std::addressof(value_); }

#if defined(__cpp_exceptions)
    /** Returns the value, or throws an acu::error. */
    T &value() & { return check(), value_; }
    T value() && { return check(), std::move(value_); }
#endif

  private:
#if defined(__cpp_exceptions)
    void check() const {
        if (code_ != ACU_SUCCESS)
            throw error(code_);
    }
#endif

    T value_{};
    acu_result code_;
};

/** The result of a call without a value, which the caller must look at, too. */
template <> class [[nodiscard]] result<void> {
  public:
    result(acu_result code) noexcept : code_(code) {}
    result(failure failed) noexcept : code_(failed.code) {}

    /** Returns whether the call succeeded. */
    explicit operator bool() const noexcept { return code_ == ACU_SUCCESS; }

    /** Returns the code: ACU_SUCCESS, another acu_result_code, or CUDA's own. */
    acu_result code() const noexcept { return code_; }

    /** Returns why the call failed, until the thread's next failure; "" where it succeeded. */
    const char *message() const noexcept { return detail::why(code_); }

#if defined(__cpp_exceptions)
    /** Throws an acu::error where the call failed. */
    void value() const {
        if (code_ != ACU_SUCCESS)
            throw error(code_);
    }
#endif

  private:
    acu_result code_;
};

/* ---- arguments ---- */

/**
 * Elements that lie one after the other and stay someone else's. Whatever has data() and size()
 * becomes one, such as std::vector, std::array and std::span; so do arrays, and `{first, second}`.
 */
template <typename T> class span {
    template <typename From>
    using converts = std::enable_if_t<std::is_convertible_v<From (*)[], T (*)[]>>;

  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <typename From, std::size_t size, typename = converts<From>>
    constexpr span(From (&array)[size]) noexcept : data_(array), size_(size) {}

    /* What ends with the expression may be read, but not be written to: its data() is const. */
    template <
        typename From, typename = std::enable_if_t<!std::is_array_v<std::remove_reference_t<From>>>,
        typename Data = std::conditional_t<std::is_lvalue_reference_v<From>, From, const From &>,
        typename = converts<std::remove_pointer_t<decltype(std::declval<Data>().data())>>,
        typename = decltype(static_cast<std::size_t>(std::declval<Data>().size()))>
    constexpr span(From &&from) noexcept
        : data_(static_cast<Data>(from).data()), size_(static_cast<std::size_t>(from.size())) {}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime" /* a span never outlives what it is made of  \
                                                       */
#endif
    template <typename From = T, typename = std::enable_if_t<std::is_const_v<From>>>
    constexpr span(std::initializer_list<std::remove_const_t<From>> list) noexcept
        : data_(list.begin()), size_(list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t at) const noexcept { return data_[at]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

template <typename T> span(T *, std::size_t) -> span<T>;
template <typename T, std::size_t size> span(T (&)[size]) -> span<T>;
template <typename From>
span(From &&) -> span<std::remove_pointer_t<decltype(std::declval<From &>().data())>>;

/** A struct to read: the struct itself, its address, or nullptr for none. */
template <typename T> class given {
  public:
    constexpr given(std::nullptr_t = nullptr) noexcept {}
    constexpr given(const T *address) noexcept : address_(address) {}
    constexpr given(const T &value) noexcept : address_(std::addressof(value)) {}
    constexpr const T *get() const noexcept { return address_; }

  private:
    const T *address_ = nullptr;
};

/**
 * Returns the acu_dtype of a C++ type. A type that C lacks, such as std::complex<float>, or a
 * struct, gets one by a specialisation of acu::dtype_traits, which is checked nowhere.
 */
template <typename T> struct dtype_traits {
    static acu_dtype dtype() noexcept { return acu_dtype_of(static_cast<const T *>(nullptr)); }
};
template <typename T> acu_dtype dtype_of() noexcept {
    return dtype_traits<std::remove_const_t<T>>::dtype();
}

/* ---- handles ---- */

/** A handle that owns nothing: a pointer, which is copied as one. Its object must live. */
template <typename C> class handle {
  public:
    constexpr handle(std::nullptr_t = nullptr) noexcept {}
    constexpr handle(C *object) noexcept : object_(object) {}

    /** Returns C's handle. */
    constexpr C *get() const noexcept { return object_; }
    constexpr explicit operator bool() const noexcept { return object_ != nullptr; }

    friend constexpr bool operator==(handle a, handle b) noexcept { return a.object_ == b.object_; }
    friend constexpr bool operator!=(handle a, handle b) noexcept { return a.object_ != b.object_; }

  protected:
    C *object_ = nullptr;
};

/** A handle that owns: it can be moved, not copied, and its end takes an owner away. */
template <typename Ref, typename C, acu_result (*Release)(C *), void (*Cleanup)(C **)>
class owner : public Ref {
  public:
    constexpr owner(std::nullptr_t = nullptr) noexcept {}
    /** Takes over an owner of the object, which a C function returned. */
    constexpr explicit owner(C *object) noexcept : Ref(object) {}
    owner(owner &&other) noexcept : Ref(other.detach()) {}
    owner &operator=(owner &&other) noexcept {
        if (this != &other) {
            clean();
            this->object_ = other.detach();
        }
        return *this;
    }
    ~owner() { clean(); }

    /** Takes the owner away now, and returns the C function's result. */
    result<> release() noexcept { return Release(detach()); }

    /** Gives the owner to the caller, as C's handle; this one is empty then. */
    C *detach() noexcept {
        C *object = this->object_;
        this->object_ = nullptr;
        return object;
    }

  private:
    void clean() noexcept {
        if (this->object_)
            Cleanup(&this->object_);
    }
};

/** Makes a device current until its end: acu_device_enter(), and acu_device_leave(). */
class device_guard {
  public:
    device_guard() noexcept = default;
    device_guard(device_guard &&other) noexcept : guard_(std::exchange(other.guard_, {})) {}
    device_guard &operator=(device_guard &&other) noexcept {
        if (this != &other) {
            acu_device_guard_cleanup(&guard_);
            guard_ = std::exchange(other.guard_, {});
        }
        return *this;
    }
    ~device_guard() { acu_device_guard_cleanup(&guard_); }

    /** Makes a device current until acu::device_guard::leave(), or until the guard's end. */
    static result<device_guard> enter(acu_device device) noexcept {
        device_guard guard;
        const acu_result code = acu_device_enter(&guard.guard_, device);
        return {code, std::move(guard)};
    }

    /** Makes the device current again that was before; does nothing the second time. */
    result<> leave() noexcept { return acu_device_leave(&guard_); }

  private:
    acu_device_guard guard_{};
};

/* ---- functions of the program ---- */

/** An acu_closure of a function object, which is copied or moved to the heap. */
class closure {
  public:
    /** Takes a closure of C's over: its data is destroyed here, if no function takes it. */
    explicit closure(acu_closure taken) noexcept : closure_(taken) {}

    /** An exception that leaves the function ends the program. */
    template <typename Function, typename Kept = std::decay_t<Function>,
              typename = std::enable_if_t<std::is_invocable_v<Kept &>>>
    closure(Function &&function)
        : closure_{[](void *data) noexcept { (*static_cast<Kept *>(data))(); },
                   new Kept(std::forward<Function>(function)),
                   [](void *data) noexcept { delete static_cast<Kept *>(data); }} {}
    closure(closure &&other) noexcept : closure_(other.detach()) {}
    closure &operator=(closure &&) = delete;
    ~closure() {
        if (closure_.destroy)
            closure_.destroy(closure_.data);
    }

    /** Gives it to a C function, which destroys the data. */
    acu_closure detach() noexcept { return std::exchange(closure_, {}); }

  private:
    acu_closure closure_;
};

namespace detail {

/** A function object that a C function calls before it returns. */
template <typename Ref, typename C, typename Function> class called {
  public:
    explicit called(Function &function) noexcept : function_(function) {}

    static acu_result call(C *object, void *data) {
        auto *self = static_cast<called *>(data);
#if defined(__cpp_exceptions)
        try {
            return self->run(object);
        } catch (...) { /* must not pass through C */
            self->thrown_ = std::current_exception();
            return ACU_ERROR_STATE;
        }
#else
        return self->run(object);
#endif
    }

    /** Throws what the function has thrown. */
    void finish() const {
#if defined(__cpp_exceptions)
        if (thrown_)
            std::rethrow_exception(thrown_);
#endif
    }

  private:
    acu_result run(C *object) {
        if constexpr (std::is_void_v<std::invoke_result_t<Function &, Ref>>) {
            function_(Ref(object));
            return ACU_SUCCESS;
        } else {
            return result<>(function_(Ref(object))).code();
        }
    }

    Function &function_;
#if defined(__cpp_exceptions)
    std::exception_ptr thrown_;
#endif
};

template <typename C> std::true_type is_handle(const handle<C> *);
std::false_type is_handle(const volatile void *);

/* Whether acu_arg_of() takes a T; a function, to which `+` leads, would be a bool. */
template <typename T, typename = void> struct is_argument : std::false_type {};
template <typename T>
struct is_argument<T, std::void_t<decltype(acu_arg_of(std::declval<const T &>()))>>
    : std::negation<std::is_member_pointer<T>> {};
template <typename T, typename = void> struct is_function : std::false_type {};
template <typename T>
struct is_function<T, std::void_t<decltype(+std::declval<const T &>())>>
    : std::is_function<std::remove_pointer_t<decltype(+std::declval<const T &>())>> {};

/** Makes an argument as acu_arg_of() does, of a handle from C's, so that C's list says which fit.
 */
template <typename T> acu_arg argument(const T &value) noexcept {
    if constexpr (decltype(is_handle(std::addressof(value)))::value) {
        return argument(value.get());
    } else if constexpr (is_argument<T>::value && !is_function<T>::value) {
        return acu_arg_of(value);
    } else {
        static_assert(sizeof(T) == 0, "no kernel takes this: give a number, a raw pointer, a "
                                      "buffer, texture, surface, tensor map or block, or a struct "
                                      "by acu_bytes()");
        return acu_arg_of(nullptr);
    }
}

/** Returns handles as C reads an array of them: each is nothing but its pointer. */
template <typename Ref> auto pointers(span<const Ref> handles) noexcept {
    using pointer = decltype(handles.data()->get());
    static_assert(sizeof(Ref) == sizeof(pointer) && std::is_standard_layout_v<Ref>);
    return reinterpret_cast<const pointer *>(handles.data());
}

/** Returns owners as C writes an array of handles, once they have released what they own; NULL,
 * which C refuses, where there are fewer than `count`. */
template <typename Owner> auto owners(span<Owner> all, std::size_t count) noexcept {
    using pointer = decltype(all.data()->get());
    static_assert(sizeof(Owner) == sizeof(pointer) && std::is_standard_layout_v<Owner>);
    for (Owner &one : all)
        one = Owner();
    return all.size() < count ? nullptr : reinterpret_cast<pointer *>(all.data());
}

/* Several arrays with one count, as spans: an empty one is NULL in C, and the others are as long as
 * each other. */

template <typename... T> constexpr std::size_t longest(span<T>... all) noexcept {
    std::size_t count = 0;
    ((count = all.size() > count ? all.size() : count), ...);
    return count;
}

/** Returns one of the arrays that C reads; NULL, which C refuses, where they are of several
 * lengths. */
template <typename T, typename... Others>
constexpr T *beside(span<T> one, span<Others>... others) noexcept {
    const std::size_t count = longest(one, others...);
    const bool fits =
        (one.empty() || one.size() == count) && ((others.empty() || others.size() == count) && ...);
    return fits && !one.empty() ? one.data() : nullptr;
}

/** Returns an array that C fills, NULL where its elements are not wanted. */
template <typename T> constexpr T *wanted(span<T> all) noexcept {
    return all.empty() ? nullptr : all.data();
}

/** Returns for how many elements there is room in each array that C fills. */
template <typename... T> constexpr std::size_t room(span<T>... all) noexcept {
    std::size_t count = longest(all...);
    ((count = !all.empty() && all.size() < count ? all.size() : count), ...);
    return count;
}

} // namespace detail

} // namespace acu

#endif
